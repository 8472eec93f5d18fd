/**
 * app.ini.example: a file to start from. The defaults stand in comments; what is set makes a working start.
 */

import { type Key, type Section, sections, webhookSections } from '../../src/config/index.ts';

const set: Readonly<Record<string, string>> = {
  'quota.ENABLED': 'true',
  'quota.default.TOTAL': '10G',
  'storage.repos.PATH': '/srv/git/{owner}/{repo}.git',
};

const opening = `\
# softquota reads this as ./app.ini, as /etc/softquota/app.ini, or wherever --config says.
# What begins with ; is a default or an example. docs/configuration.md has the whole story.
# "softquota serve --check-config" tells what is wrong with this file.
`;

export function exampleFile(): string {
  const blocks = sections.map(section =>
    section.name === 'mail' ? `${webhookBlock()}\n${block(section)}` : block(section),
  );
  return [opening, ...blocks].join('\n');
}

/** In comments as a whole: a section of an administrator's own begins where it is opened. */
function webhookBlock(): string {
  return block(webhookSections).replace('[webhook.NAME]', ';[webhook.chat]');
}

function block(section: Section): string {
  // Keys that all storage sections have are explained at the first one.
  const terse = section.name.startsWith('storage.') && section.name !== 'storage.repos';
  const lines = terse
    ? section.keys.filter(key => key.name === 'PATH').map(setting)
    : section.keys.flatMap(key => [...comment(key), setting(key)]);
  return [`# ${section.doc}`, `[${section.name}]`, ...lines, ''].join('\n');
}

function setting(key: Key<unknown>): string {
  const value = set[`${key.section}.${key.name}`];
  if (value !== undefined) return `${key.name} = ${value}`;
  return `;${key.name} = ${key.text === '' ? (key.example ?? '') : key.text}`.trimEnd();
}

/** The first sentence, without the marks of Markdown. A link becomes the path of its page. */
function comment(key: Key<unknown>): string[] {
  const [sentence = ''] = /^.*?\.(?=\s|$)/.exec(key.doc) ?? [];
  const lines: string[] = [];
  const plain = sentence.replaceAll('`', '').replaceAll(/\[([^\]]+)\]\(([^)#]+)[^)]*\)/g, '$1 (docs/$2)');
  for (const word of plain.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 95) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`# ${word}`);
  }
  return lines;
}
