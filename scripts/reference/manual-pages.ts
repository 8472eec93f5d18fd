/** share/man: softquota(1) from the definitions of the commands, app.ini(5) from that of the configuration. */

import { type Key, routeSections, type Section, sections } from '../../src/config/index.ts';
import { configurationOpening, defaultOf } from './configuration.ts';
import { type DescribedCommand, describedCommands } from './described.ts';

const written = '.\\" Written by npm run generate from the definitions in the code.';

export async function commandsManual(): Promise<string> {
  const [program, ...commands] = await describedCommands();
  if (program === undefined) throw new Error('there is a program');
  return [
    written,
    '.TH SOFTQUOTA 1 "" softquota "softquota manual"',
    '.SH NAME',
    'softquota \\- a soft disk quota for any git server',
    '.SH SYNOPSIS',
    `.B softquota\n.I command\n[\\fIoption\\fR ...] [\\fIargument\\fR ...]`,
    '.SH DESCRIPTION',
    'softquota is a daemon that knows how much each owner of repositories stores, and answers whether an action',
    'that adds data may start. These commands run it, ask it, and tell it what to do. They talk to the daemon over',
    '\\fB[server] ADMIN_SOCKET\\fR, or over HTTP if \\fBSOFTQUOTA_URL\\fR and \\fBSOFTQUOTA_TOKEN\\fR are set.',
    '.SH COMMANDS',
    ...commands.flatMap(chapter),
    '.SH EXIT STATUS',
    plain(program.after.replace(/^Exit status:\s*/, '')),
    '.SH FILES',
    ...item('/etc/softquota/app.ini', 'The configuration: see \\fBapp.ini\\fR(5).'),
    ...item('/var/lib/softquota', 'What the daemon knows.'),
    ...item('/run/softquota', 'Its sockets.'),
    '.SH SEE ALSO',
    '\\fBapp.ini\\fR(5), \\fBgit\\fR(1), \\fBgithooks\\fR(5)',
    '',
  ].join('\n');
}

function chapter({ name, usage, description, options, after }: DescribedCommand): readonly string[] {
  return [
    `.SS ${plain(name)}`,
    `.B ${plain(usage)}`,
    '.PP',
    plain(description),
    ...options
      .filter(option => option.name !== '--help')
      .flatMap(option => item(option.flags, plain(option.description))),
    ...(after === '' ? [] : verbatim(after)),
  ];
}

export function configurationManual(): string {
  return [
    written,
    '.TH APP.INI 5 "" softquota "softquota manual"',
    '.SH NAME',
    'app.ini \\- the configuration of softquota',
    '.SH DESCRIPTION',
    ...proseOf(configurationOpening.replace(/^# .*\n/, '')),
    '.SH SECTIONS',
    ...[...sections, routeSections].flatMap(sectionChapter),
    '.SH FILES',
    ...item('/etc/softquota/app.ini', 'The configuration of the service.'),
    '.SH SEE ALSO',
    '\\fBsoftquota\\fR(1)',
    '',
  ].join('\n');
}

function sectionChapter({ name, doc, keys }: Section): readonly string[] {
  return [`.SS [${plain(name)}]`, spans(doc), ...keys.flatMap(keyItem)];
}

function keyItem(key: Key<unknown>): readonly string[] {
  const takes = key.reloads ? 'a reload takes it' : 'a restart takes it';
  return item(key.name, `${spans(key.doc)}\nDefault: ${spans(defaultOf(key))}; ${takes}.`);
}

/** A term, and what it means below it, indented. */
function item(term: string, text: string): readonly string[] {
  return ['.TP', `.B ${plain(term)}`, text];
}

function verbatim(text: string): readonly string[] {
  return ['.PP', '.nf', plain(text), '.fi'];
}

/** Text that troff takes as it stands: no line of it is a request. */
function plain(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gm, '\\&');
}

/** A paragraph with the marks of Markdown. */
function spans(text: string): string {
  return plain(text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'))
    .replaceAll(/`([^`]*)`/g, '\\fB$1\\fR')
    .replaceAll(/\*\*([^*]*)\*\*/g, '\\fB$1\\fR')
    .replaceAll(/(?<![\w*])\*(\w[^*]*)\*/g, '\\fI$1\\fR');
}

/** Headings, paragraphs, lists and indented blocks of Markdown. */
function proseOf(markdown: string): readonly string[] {
  return markdown
    .split(/\n\n+/)
    .map(block => block.replace(/^\n+|\n+$/g, ''))
    .filter(block => block !== '')
    .flatMap(block => {
      if (block.startsWith('## ')) return [`.SS ${plain(block.slice(3))}`];
      if (block.startsWith('    '))
        return ['.PP', '.RS 4', '.nf', plain(block.replaceAll(/^ {4}/gm, '')), '.fi', '.RE'];
      if (!block.startsWith('- ')) return ['.PP', spans(block)];
      return block
        .split(/^- /m)
        .slice(1)
        .flatMap(each => ['.IP \\(bu 2', spans(each.trim().replaceAll(/\n +/g, '\n'))]);
    });
}
