/** What the style sheet says of a picture, which a file of its own has to say itself. */
const STYLES = [
  'fill',
  'stroke',
  'stroke-width',
  'stroke-opacity',
  'stroke-linecap',
  'stroke-dasharray',
  'font-size',
  'font-family',
];

/**
 * A picture of the page as a file that looks the same elsewhere, on a ground of its own: in light colours, also where the
 * page is dark, because it goes into documents.
 */
export function svgFile(picture: SVGSVGElement): Blob {
  const place = picture.closest<HTMLElement>('.plots') ?? document.body;
  const before = place.style.colorScheme;
  place.style.colorScheme = 'light';
  try {
    return fileOf(picture, getComputedStyle(place).backgroundColor);
  } finally {
    place.style.colorScheme = before;
  }
}

function fileOf(picture: SVGSVGElement, colour: string): Blob {
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const [shown, copied] = [picture, copy].map((one) => [one, ...one.querySelectorAll('*')]);
  for (const [i, element] of (shown ?? []).entries()) {
    const style = getComputedStyle(element);
    const target = copied?.[i] as SVGElement;
    target.removeAttribute('class');
    target.removeAttribute('style');
    for (const name of STYLES) target.setAttribute(name, style.getPropertyValue(name));
  }
  copy.removeAttribute('aria-hidden');
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  const ground = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  for (const [name, value] of [
    ['width', '100%'],
    ['height', '100%'],
    ['fill', colour],
  ] as const) {
    ground.setAttribute(name, value);
  }
  copy.prepend(ground);
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: 'image/svg+xml' });
}
