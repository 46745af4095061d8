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
