/** Exports a history: its figures as CSV, and the chart as an image, always in light colours. */

import type { History } from '../../../src/wire/index.ts';
import { totalOf } from './plot.ts';

/** Makes CSV of bytes and of times in UTC. */
export function historyCsv({ leaves, points }: History): string {
  const lines = points.map(point => {
    const { at, bytes } = point;
    return [at, totalOf(point), ...leaves.map((_, index) => bytes[index] ?? 0)].join(',');
  });
  return [['time', 'total', ...leaves].join(','), ...lines, ''].join('\r\n');
}

/** Properties of the chart that come from style sheets. */
const drawn = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'font-family',
  'font-size',
  'font-weight',
  'opacity',
  'paint-order',
] as const;

const lineHeight = 20;
const beside = 12;

export interface ImageText {
  readonly title: string;
  readonly legend: readonly { readonly words: string; readonly colour: string }[];
}

/** Returns the chart as SVG that needs no style sheet. */
export function chartSvg(chart: SVGSVGElement, { title, legend }: ImageText): string {
  const before = chart.style.colorScheme;
  // Light colours suit paper.
  chart.style.colorScheme = 'light';
  const copy = chart.cloneNode(true);
  if (!(copy instanceof SVGSVGElement)) return '';
  const originals = [chart, ...chart.querySelectorAll('*')];
  for (const [index, element] of [copy, ...copy.querySelectorAll('*')].entries()) {
    const original = originals[index];
    if (original === undefined) continue;
    const style = getComputedStyle(original);
    element.removeAttribute('class');
    element.removeAttribute('style');
    // The content policy forbids style attributes, so presentation attributes are used.
    for (const name of drawn) element.setAttribute(name, style.getPropertyValue(name));
  }
  const { width, height } = { width: chart.width.baseVal.value, height: chart.height.baseVal.value };
  const whole = height + lineHeight * (2 + legend.length);
  const paint = (colour: string) => resolved(chart, colour);
  const text = getComputedStyle(chart).color;
  const font = getComputedStyle(chart).fontFamily;
  const head = svgElement(
    'text',
    { x: beside, y: lineHeight, 'font-family': font, 'font-size': 15, 'font-weight': 600, fill: text },
    title,
  );
  const moved = svgElement('g', { transform: `translate(0 ${lineHeight + beside})` });
  moved.append(...copy.childNodes);
  const key = legend.flatMap(({ words, colour }, index) => {
    const y = height + lineHeight * (index + 2);
    const place = { x: beside, y, width: 12, height: 12, fill: paint(colour) };
    const at = { x: beside + lineHeight, y: y + 11, 'font-family': font, 'font-size': 13, fill: text };
    return [svgElement('rect', place), svgElement('text', at, words)];
  });
  const ground = svgElement('rect', { width, height: whole, fill: paint('var(--surface)') });
  chart.style.colorScheme = before;
  const image = svgElement('svg', { width, height: whole, viewBox: `0 0 ${width} ${whole}` });
  image.append(ground, head, moved, ...key);
  return new XMLSerializer().serializeToString(image);
}

/** Renders an SVG chart as PNG in double resolution. */
export async function chartPng(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = image.naturalWidth * 2;
  canvas.height = image.naturalHeight * 2;
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob(blob => (blob === null ? reject(new Error('the image cannot be made')) : resolve(blob)));
  });
}

export function download(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Returns the computed value of a colour at this element. */
function resolved(at: SVGElement, colour: string): string {
  const probe = svgElement('rect', {});
  probe.style.fill = colour;
  at.append(probe);
  const { fill } = getComputedStyle(probe);
  probe.remove();
  return fill;
}

function svgElement(
  name: string,
  attributes: Readonly<Record<string, number | string>>,
  text = '',
): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = text;
  return element;
}
