/** Draws curves of what was measured, as small SVG files beside this one. */

import { writeFileSync } from 'node:fs';

const [width, height, left, bottom] = [640, 240, 48, 28];

/** Writes a curve, in the order of time and from 0 on, with the axis of what was measured from 0. */
export function drawCurve(
  file: string,
  values: readonly number[],
  { title, below, step = 50 }: { readonly title: string; readonly below: string; readonly step?: number },
): void {
  const top = step * Math.ceil(Math.max(...values) / step);
  const x = (at: number) => left + (at * (width - left - 8)) / (values.length - 1);
  const y = (value: number) => 8 + (1 - value / top) * (height - bottom - 8);
  const lines = Array.from({ length: top / step + 1 }, (_, at) => step * at).map(
    value =>
      `<path d="M${left} ${y(value).toFixed(1)}H${width - 8}" stroke="#8886"/><text x="${left - 6}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end">${value}</text>`,
  );
  const points = values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  const text = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#888">
<title>${title}</title>
${lines.join('\n')}
<text x="${left}" y="${height - 8}">${below}</text>
<polyline points="${points}" fill="none" stroke="#2a7ae2" stroke-width="2"/>
</svg>
`;
  writeFileSync(new URL(file, import.meta.url), text);
}
