// Oaken's pages work without this. It keeps the share of mail that can be found by meaning current while it grows, and a
// long conversation's list scrolled to the message that is read.

const EVERY_MS = 3000;

for (const notice of document.querySelectorAll("[data-oaken-progress]")) {
  const bar = notice.querySelector("progress");
  const share = notice.querySelector(".oak-share");
  const look = async () => {
    if (document.hidden) return; // asked again when the page is looked at
    try {
      const response = await fetch(notice.dataset.oakenProgress, { headers: { Accept: "application/json" } });
      if (!response.ok) return;
      const { embedding } = await response.json();
      bar.value = embedding.coverage * 100;
      share.textContent = `${Math.floor(embedding.coverage * 100)}%`;
      if (embedding.coverage >= 1) {
        clearInterval(timer);
        notice.querySelector("p").textContent = "All of your mail can be found by meaning now. Search again to use it.";
      }
    } catch {
      // the server is away for a moment: the next look will tell
    }
  };
  const timer = setInterval(look, EVERY_MS);
  document.addEventListener("visibilitychange", look);
}

const current = document.querySelector(".oak-thread .oak-current");
if (current) {
  const list = current.parentElement;
  list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
}

// A question's page follows a run that goes on: the sentence and the figures, as the JSON says them.
for (const question of document.querySelectorAll("[data-oaken-count]")) {
  const look = async () => {
    if (document.hidden) return;
    try {
      const response = await fetch(question.dataset.oakenCount, { headers: { Accept: "application/json" } });
      if (!response.ok) return;
      const count = await response.json();
      for (const figure of question.querySelectorAll("[data-figure]")) {
        const value = count[figure.dataset.figure];
        if (figure instanceof HTMLProgressElement) figure.value = value;
        else if (figure.dataset.figure === "yes" && count.at_least) figure.textContent = `at least ${value.toLocaleString("en")}`;
        else figure.textContent = typeof value === "number" ? value.toLocaleString("en") : value;
      }
      const share = question.querySelector("[data-oaken-share]"); // rounded down: what is not whole never says 100 %
      share.textContent = `${(Math.floor(count.coverage * 1000) / 10).toFixed(1)} %`;
      question.querySelector(".oak-coverage progress").max = count.eligible || 1;
      const shown = question.querySelector(".oak-coverage span");
      shown.textContent = `${count.judged.toLocaleString("en")} of ${count.eligible.toLocaleString("en")} judged`;
      if (!count.remaining) clearInterval(timer);
    } catch {
      // the server is away for a moment: the next look will tell
    }
  };
  const timer = setInterval(look, EVERY_MS);
  document.addEventListener("visibilitychange", look);
}

// The review: one key a message. A key does what the button that names it does, unless something is being typed.
const reviewing = document.querySelector(".oak-reviewing");
if (reviewing) {
  let answered = false; // a key that is held down answers one message, not the next one too
  addEventListener("pageshow", () => (answered = false)); // the browser's back brings the page as it was
  document.addEventListener("keydown", (event) => {
    if (answered || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    const button = reviewing.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (!button) return;
    answered = true;
    event.preventDefault();
    button.click();
  });
}
