// Asks the server of this page whether the inventory changed, and then loads the page again. The address keeps
// the state of the page. A server that does not answer twice in a row has ended, and the page says so.
(async () => {
  const shown = document.currentScript.dataset.state;
  const line = document.createElement("p");
  [line.id, line.hidden] = ["ended", true];
  line.setAttribute("role", "status");
  document.body.append(line);
  let [failed, current] = [0, new Date()];
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    if (document.hidden) continue;
    const answer = await fetch("state").catch(() => null);
    const state = answer?.ok ? await answer.text().catch(() => null) : null;
    if (state === null) {
      if (++failed >= 2) {
        line.hidden = false;
        const why = answer ? "The server has too many connections" : "The server has ended";
        line.textContent = `${why}; this page is as of ${current.toLocaleTimeString()}.`;
      }
      continue;
    }
    [failed, current, line.hidden] = [0, new Date(), true];
    if (state !== shown) location.reload();
  }
})();
