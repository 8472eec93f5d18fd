/**
 * Templates of mails: text with `{{name}}` for a value, and `{{#name}}…{{/name}}` for a part that is there
 * for each entry of a list, or once if the value is not empty; `{{^name}}…{{/name}}` is there if it is. There
 * is nothing else: a template runs nothing and reads nothing.
 */

/** Values by name. */
export interface View {
  readonly [name: string]: string | readonly View[];
}

export type MailTemplate = readonly Part[];

type Part =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'value'; readonly name: string }
  | {
      readonly is: 'section';
      readonly name: string;
      readonly isInverted: boolean;
      readonly parts: Part[];
    };

const mostCharacters = 262_144;
const mostRendered = 1_000_000;
const mark = /\{\{([#^/]?)\s{0,9}(\w{1,40})\s{0,9}\}\}/g;

/** Throws an Error that names the line. `names`: what values there are. */
export function parseMailTemplate(text: string, names: ReadonlySet<string>): MailTemplate {
  if (text.length > mostCharacters) throw new Error(`longer than ${mostCharacters} characters`);
  const whole: Part[] = [];
  const open: { readonly name: string; readonly parts: Part[]; readonly line: number }[] = [];
  let at = 0;
  const parts = () => open.at(-1)?.parts ?? whole;
  for (const match of text.matchAll(mark)) {
    const [written, sign = '', name = ''] = match;
    const line = lineOf(text, match.index);
    parts().push({ is: 'text', text: text.slice(at, match.index) });
    at = match.index + written.length;
    // A section's mark that has a line for itself leaves no line.
    const isAlone = (match.index === 0 || text[match.index - 1] === '\n') && text[at] === '\n';
    if (sign !== '' && isAlone) at += 1;
    if (!names.has(name)) {
      throw new Error(`line ${line}: there is no value ${name}; known are ${[...names].join(', ')}`);
    }
    if (sign === '') parts().push({ is: 'value', name });
    else if (sign === '/') {
      const last = open.pop();
      if (last?.name !== name) throw new Error(`line ${line}: ${written} ends nothing that is open`);
    } else {
      const inner: Part[] = [];
      parts().push({ is: 'section', name, isInverted: sign === '^', parts: inner });
      open.push({ name, parts: inner, line });
    }
  }
  const [unended] = open;
  if (unended !== undefined) throw new Error(`line ${unended.line}: {{#${unended.name}}} has no end`);
  const rest = text.slice(at);
  if (rest.includes('{{')) throw new Error(`line ${lineOf(text, at + rest.indexOf('{{'))}: {{ is not closed`);
  whole.push({ is: 'text', text: rest });
  return whole;
}

/** `escaped` makes a value fit for the text around it. Values of inner lists win over outer ones. */
export function render(template: MailTemplate, view: View, escaped: (value: string) => string): string {
  let left = mostRendered;
  const rendered = (parts: MailTemplate, values: View): string => {
    let text = '';
    for (const part of parts) {
      text += rendering(part, values);
      if (text.length > left) throw new Error(`more than ${mostRendered} characters`);
    }
    left -= text.length;
    return text;
  };
  const rendering = (part: Part, values: View): string => {
    if (part.is === 'text') return part.text;
    const value = values[part.name] ?? '';
    if (part.is === 'value') return typeof value === 'string' ? escaped(value) : '';
    if (part.isInverted) return value.length === 0 ? rendered(part.parts, values) : '';
    if (typeof value === 'string') return value === '' ? '' : rendered(part.parts, values);
    return value.map(entry => rendered(part.parts, { ...values, ...entry })).join('');
  };
  return rendered(template, view);
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}
