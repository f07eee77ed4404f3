// The order of the results of the search. Sphinx counts a word in a heading three times a word of the text, and
// nothing else: the pages of the commands, with a heading for each word, came before the page that answers a question.
var Scorer = {
  /** What Sphinx found is moved up or down by what kind of page it is on. */
  score: ([page, title, anchor, , score, , kind]) => {
    const words = (text) => ` ${text.toLowerCase().replace(/[^\p{L}\p{N}_.]+/gu, " ").trim()} `;
    const query = words(new URLSearchParams(window.location.search).get("q") ?? "");
    // Results of sections are called `Page > Section`.
    const [name, section] = title.split(" > ");
    const commands = page.startsWith("reference/");
    // A page about the words, and a setting or a code with this very name.
    if (kind !== "object" && !commands) {
      if (!anchor && words(name).includes(query)) return score + 25;
      if (section && words(section) === query) return score + 20;
    }
    // The page that answers questions.
    if (page === "language") return score + 11;
    return commands && kind !== "object" ? score - 8 : score;
  },
  // The numbers of Sphinx.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
