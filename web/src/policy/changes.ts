/** Describes the fields that a change of the policy changed: `limit: 100 GB → 100 kB`. */

import { formatBytes, printable, writeDuration } from '../../../src/text.ts';

const longest = 200;

/** Lists all fields if `before` is null (created) or `after` is null (deleted). */
export function changedFields(before: unknown, after: unknown): readonly string[] {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  return [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter(field => JSON.stringify(was[field]) !== JSON.stringify(is[field]))
    .map(field => {
      const told = [...(before === null ? [] : [was]), ...(after === null ? [] : [is])];
      const words = told.map(each => valueWords(field, each[field]));
      const areAlike = words.length === 2 && words[0] === words[1];
      const shown = areAlike ? told.map(each => `${textOf(each[field])} B`) : words;
      return `${field.replaceAll('_', ' ')}: ${shown.join(' → ')}`;
    });
}

function valueWords(field: string, value: unknown): string {
  if (value === undefined || value === null) return 'not set';
  if (typeof value === 'number' && field === 'limit') return value === -1 ? 'unlimited' : formatBytes(value);
  if (typeof value === 'number' && field === 'grace') return writeDuration(value * 1000);
  if (Array.isArray(value)) return value.length === 0 ? 'none' : cut(value.map(textOf).join(', '));
  return cut(textOf(value));
}

function textOf(value: unknown): string {
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}

function cut(text: string): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

export function fieldsOf(content: unknown): Readonly<Record<string, unknown>> {
  return typeof content === 'object' ? { ...content } : {};
}
