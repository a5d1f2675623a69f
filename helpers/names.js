// What JupyterLab leaves out for people who use a keyboard or a screen reader, within the notebook in which it stands:
// names and values of sliders; arrow keys, which it takes from lists, and Notebook 7 from sliders too; as the name of a
// picture the description in the text below it ("*Figure: ...*"). Sliders without a kernel are put out of order, and a
// line says what to do. Controls and tables are as large as the text around them, so that one setting enlarges all.
const begin = () => {
  const panel = element.closest(".jp-NotebookPanel");
  if (!panel) return element.isConnected || setTimeout(begin, 200);  // not yet in the page
  if (panel.attentionNames) return;
  const style = panel.appendChild(document.createElement("style"));
  style.textContent = `
    .explore-live { --jp-widgets-font-size: var(--jp-content-font-size1); }
    .explore-live .jp-RenderedHTMLCommon table { margin-left: 0; }
    .jp-RenderedMarkdown table { font-size: 1em; }
    .explore-live .jp-RenderedJavaScript { display: none; }
    .explore-live .widget-dropdown > select { appearance: auto; background-image: none; }  /* black on black if dark */
    .explore-live.jupyter-widgets-disconnected > * { opacity: 0.5; }
    .explore-live.jupyter-widgets-disconnected::after {
      content: "The kernel of these sliders is gone. Run this cell again (Shift+Enter) to move them.";
      order: -1; font-style: italic; color: var(--jp-ui-font-color1);
    }`;
  const set = (node, attribute, value) => {  // to set even the same value again would cost time at each move
    if (node.getAttribute(attribute) !== value) node.setAttribute(attribute, value);
  };
  const name = () => {
    for (const slider of panel.querySelectorAll(".widget-slider")) {
      const label = slider.querySelector(".widget-label").textContent;
      const readout = slider.querySelector(".widget-readout");
      set(readout, "role", "textbox");
      set(readout, "aria-label", `${label}, to type a value`);
      for (const handle of slider.querySelectorAll(".noUi-handle")) {
        set(handle, "aria-label", label);
        set(handle, "aria-valuetext", readout.textContent);
      }
    }
    const fields = ".noUi-handle, .widget-readout, .jupyter-widgets select, .jupyter-widgets input";
    for (const field of panel.querySelectorAll(fields)) set(field, "data-lm-suppress-shortcuts", "true");
    for (const box of panel.querySelectorAll(".explore-live")) {
      box.inert = box.classList.contains("jupyter-widgets-disconnected");
    }
    for (const picture of panel.querySelectorAll(".jp-RenderedImage img:not([alt])")) {
      const texts = picture.closest(".jp-Cell")?.nextElementSibling?.querySelectorAll("em") ?? [];
      const description = [...texts].find((text) => text.textContent.startsWith("Figure:"));
      picture.alt = description?.textContent ?? "Figure, described in the text around it";
    }
  };
  let waiting = false;  // a tenth of a second later, so that it takes no time between a key and the screen
  const later = () => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => { waiting = false; name(); }, 100);
  };
  panel.attentionNames = new MutationObserver(later);
  const attributes = { attributes: true, attributeFilter: ["class"] };
  panel.attentionNames.observe(panel, { childList: true, subtree: true, characterData: true, ...attributes });
  name();
};
begin();
