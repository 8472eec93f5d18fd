/** docs/configuration.md: every section and key, from the configuration's definition. */

import {
  type Key,
  routeSections,
  type Section,
  sections,
  variableOf,
  webhookSections,
} from '../../src/config/index.ts';

/** The page before its tables, as the manual page has it, too. */
export const configurationOpening = `\
# Configuration: app.ini

softquota reads one file and the environment. \`app.ini.example\` is a file to start from; the
least that does something is

    [quota]
    ENABLED = true

    [quota.default]
    TOTAL = 10G

    [storage.repos]
    PATH = /srv/git/{owner}/{repo}.git

\`softquota serve --check-config\` tells everything that is wrong with a configuration, and
\`softquota serve --print-config\` prints the one in force: each value, and where it comes from.

## Which file

The one that \`--config FILE\` names, else the one that \`SOFTQUOTA_CONFIG\` names, else
\`./app.ini\`, else \`/etc/softquota/app.ini\`. Root passes over an \`./app.ini\` that does not belong
to root. Without any file the environment alone may say everything.

## How it is written

- \`[section]\` headings and \`KEY = value\` lines, in UTF-8, at most 1 MiB. Capitals do not matter in
  the names of sections and keys, nor in values that are one of some words (\`MODE = Report\`). A
  section may be opened again further below; a key may stand only once.
- \`#\` and \`;\` begin a comment at the start of a line or after white space. Anywhere else they belong to
  the value: \`CONTACT = https://git.example/quota#help\` is taken whole. \`\\#\`, \`\\;\` and \`\\\\\` are
  these characters anywhere.
- A value may stand in double quotes, with JSON's escapes inside, or in single quotes, where every
  character stands for itself. A comment may follow.
- Lists have commas between their values; white space around them does not count, and a
  comma cannot be part of one.
- true and false may also be written yes and no, on and off, 1 and 0.
- Relative paths count from the folder of the file, without a file from the working directory.
- Sizes are a number and a unit: \`500M\`, \`10 GB\`, \`1.5GiB\`, \`1,024 KiB\`. k, M, G, T, P and E are powers
  of 1000, Ki, Mi, Gi, Ti, Pi and Ei of 1024, in any case, with or without a B. Fractions of a byte are
  dropped.
- An empty value stands for the default where the default is none or comes of itself, and is refused
  elsewhere, except in lists.

Unknown sections and keys, values that cannot be taken, and settings that contradict each other are
faults. The daemon names all of them at once and does not start (exit code 78):

    app.ini:12: [quota.default] TOTAL = "10 gigs": not a size. Write a number and a unit, such as 500M, 10G or 1.5GiB, or -1 for no limit.

## The environment

Every key can be set, and what a file says overridden, by a variable
\`SOFTQUOTA__SECTION__KEY\`, a dot in the section's name written \`_0X2E_\`:

    ${variableOf('quota.default', 'TOTAL')}=10G

With \`__FILE\` appended the variable names a file that holds the value (without the newline at its
end, at most 64 KiB), as secrets are handed to containers:

    ${variableOf('security', 'SECRET_KEY')}__FILE=/run/secrets/softquota

Values from the environment are taken as they stand: no quotes, no comments. A variable with this
prefix that sets nothing known is a fault, and so are both forms for one key.

## Changes while it runs

On SIGHUP the daemon reads its configuration again and takes at once what is marked *reload* below; what
is marked *restart* waits for the next start, and the log says so. A faulty configuration is refused
as a whole: the one in force stays, and log and doctor say why. So is a file that looks as if it was cut:
its last line has lost its end, or a key of \`[quota]\`, \`[storage.*]\`, \`[forge]\`, \`[disk]\`, \`[gate]\`,
\`[lfs]\`, \`[hooks]\`, \`[scan]\` or \`[webhook.*]\` that was there is gone. To go back to a default write it
(\`ENABLED = false\`), or restart.

A start takes such a file, as long as it has no fault. But DATA_PATH keeps the names of these keys: what is
gone since the last start is named in the log, in doctor (\`keys_missing\`) and in \`/readyz\`, which stays 200.
Units without storage, and the figures of a forge that is not read any more, keep their last known bytes and
are marked \`partial\` and \`stale\`. That ends when the keys are back, and the daemon is started again or
reloaded. If they are to have their defaults, \`softquota scan --accept-moved\` accepts that and removes these
units. Limits that are gone are only named: what app.ini says now is in force.
`;

export function configurationReference(): string {
  const [repos, ...others] = sections.filter(section => section.name.startsWith('storage.'));
  const blocks = sections.flatMap(section => {
    if (section === repos) return [chapter(section), otherStorages(others)];
    if (section.name === 'mail') return [chapter(webhookSections), chapter(section)];
    if (section.name === 'gate') return [chapter(section), chapter(routeSections)];
    return others.includes(section) ? [] : [chapter(section)];
  });
  return [configurationOpening, ...blocks].join('\n');
}

function chapter(section: Section): string {
  return [`## [${section.name}]`, '', section.doc, '', ...table(section), ''].join('\n');
}

/** They have the keys of [storage.repos], and only their contents differ. */
function otherStorages(storages: readonly Section[]): string {
  const kinds = storages.map(({ name, doc }) => `- \`[${name}]\`: ${doc}`);
  const examples = storages.flatMap(({ name, keys }) => {
    const path = keys.find(key => key.name === 'PATH');
    return path === undefined ? [] : [`    [${name}]`, `    PATH = ${path.example}`, ''];
  });
  return [
    '## The other [storage.*] sections',
    '',
    ...kinds,
    '',
    'PATH and OWNER are as in `[storage.repos]`. Without a PATH nothing of that kind is measured. For example:',
    '',
    ...examples,
    'A segment `*` of a PATH matches any one name. One directory has one use: the same PATH may stand only',
    'once. A PATH without `{owner}` needs an OWNER.',
    '',
  ].join('\n');
}

function table(section: Section): string[] {
  const rows = section.keys.map(
    key =>
      `| \`${key.name}\` | ${defaultOf(key)} | ${key.reloads ? 'reload' : 'restart'} | ${key.doc.replaceAll('|', '\\|')} |`,
  );
  return ['| key | default | changes by | meaning |', '|---|---|---|---|', ...rows];
}

/** The default of a key, as Markdown. */
export function defaultOf(key: Key<unknown>): string {
  return key.words ?? `\`${key.text}\``;
}
