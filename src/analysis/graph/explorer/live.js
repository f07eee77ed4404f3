// Asks the server of this page whether the inventory changed, and then loads the page again. The address keeps
// the state of the page.
(async () => {
  const shown = "{{state}}";
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    if (document.hidden) continue;
    const answer = await fetch("state").catch(() => null);
    if (answer?.ok && (await answer.text()) !== shown) location.reload();
  }
})();
