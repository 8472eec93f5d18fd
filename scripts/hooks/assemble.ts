/**
 * Assembles the hooks of the package. Each is one file, which stubs in the repositories read, or of which
 * repositories have copies; what several of them share is written once, as a fragment.
 *
 * In `scripts/hooks/NAME.sh` a line `# fragment: F` stands for `scripts/hooks/fragments/F.sh`, and `@CR@` for a
 * carriage return. The stubs are `scripts/hooks/stub.sh` with the name of the hook; installing them puts the path
 * of the hook in.
 */

import { readFileSync } from 'node:fs';

/** The hooks that are assembled, by their names in `hooks/`. */
export const assembledHooks = ['pre-receive', 'post-receive', 'upload', 'quota'] as const;

export type AssembledHook = (typeof assembledHooks)[number];

const mark = '# fragment: ';
const origin = '# scripts/generate.ts assembles this file from scripts/hooks/.\n';

/** Returns the text of `hooks/NAME`. */
export function assembledHook(name: AssembledHook): string {
  const [shebang = '', ...lines] = textOf(`${name}.sh`).split('\n');
  const body = lines
    .map(line => (line.startsWith(mark) ? fragment(line.slice(mark.length)) : line))
    .join('\n')
    .replaceAll('@CR@', '\r');
  // Behind the comment that the file opens with.
  const end = body.indexOf('\n\n');
  return `${shebang}\n${body.slice(0, end)}\n#\n${origin}${body.slice(end + 1)}`;
}

/** The hooks of which repositories have stubs. */
export const stubbedHooks = ['pre-receive', 'post-receive'] as const;

export type StubbedHook = (typeof stubbedHooks)[number];

const unchecked: Readonly<Record<StubbedHook, string>> = {
  'pre-receive': 'the quota was not checked',
  'post-receive': 'the daemon was not told of this push',
};

/** Returns the text of `hooks/stubs/NAME`. */
export function assembledStub(name: StubbedHook): string {
  const text = textOf('stub.sh').replaceAll('@NAME@', name).replaceAll('@WORDS@', unchecked[name]);
  const [before = '', only = '', after = ''] = text.split(/^# (?:only: pre-receive|end of only)\n/m);
  return `${before}${name === 'pre-receive' ? only : ''}${after}`;
}

function fragment(name: string): string {
  return `# --- ${name} ---\n\n${textOf(`fragments/${name}.sh`)}\n# --- end of ${name} ---`;
}

function textOf(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8');
}
