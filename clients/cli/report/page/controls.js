// How views of a place are moved: zooming by the wheel, and dragging.

// Zooming by the wheel that lets the page scroll: as embedded maps do, a view takes the wheel with
// Ctrl or Command, as which browsers also send a pinch, or while it has the focus, which a click gives
// it and Escape takes. Any other wheel scrolls the page, and a hint says how to zoom.
const wheelHintShown_ms = 1500;
// A pinch comes as many small steps with ctrlKey: what they zoom beyond a wheel's notch.
const pinchStep = 10;

// `zoom` gets a factor and the place of the pointer in the box, pixels.
function addWheelZoom(box, zoom) {
  const key = /^Mac/.test(navigator.platform) ? "Command" : "Ctrl";
  const hint = element("p", { class: "wheel-hint", hidden: "" }, `Use ${key} + wheel to zoom`);
  box.append(hint);
  let hiding = 0;
  box.addEventListener("pointerdown", () => box.focus({ preventScroll: true }));
  box.addEventListener("keydown", (event) => { if (event.key === "Escape") box.blur(); });
  box.addEventListener("wheel", (event) => {
    const asked = event.ctrlKey || event.metaKey || document.activeElement === box;
    clearTimeout(hiding);
    hint.hidden = asked;
    if (!asked) {
      hiding = setTimeout(() => { hint.hidden = true; }, wheelHintShown_ms);
      return;
    }
    event.preventDefault();
    const pinch = event.ctrlKey ? Math.max(-pinchStep, Math.min(pinchStep, event.deltaY)) : 0;
    const corner = box.getBoundingClientRect();
    zoom(Math.exp(-0.0016 * event.deltaY - 0.0084 * pinch), event.clientX - corner.left, event.clientY - corner.top);
  }, { passive: false });
}

// While a pointer is down in the box, `drag` gets its moves, with their pixels to the right and down.
function addDragging(box, drag) {
  let last = null;
  box.addEventListener("pointerdown", (event) => {
    last = event;
    box.setPointerCapture(event.pointerId);
    box.classList.add("dragging");
  });
  box.addEventListener("pointermove", (event) => {
    if (!last) return;
    const [dx, dy] = [event.clientX - last.clientX, event.clientY - last.clientY];
    last = event;
    drag(event, dx, dy);
  });
  const release = () => { last = null; box.classList.remove("dragging"); };
  box.addEventListener("pointerup", release);
  box.addEventListener("pointercancel", release);
}
