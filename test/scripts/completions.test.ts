/** The manual pages by man, and the completions in real shells on a terminal of their own. */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { run } from '../e2e/run.ts';

const share = fileURLToPath(new URL('../../share', import.meta.url));

/**
 * Types lines into a shell, each with a tab at its end, and waits for what a function `softquota` got.
 *
 * In: SHELL ARGS... -- SETUP -- LINE=ARGUMENTS...; the setup is typed first. Exit: 1 for a line that became
 * something else.
 */
const typist = `
set timeout 20
set parts [split [join $argv "\\n"] "|"]
lassign $parts shell setup lines
spawn -noecho {*}[split [string trim $shell] "\\n"]
expect -re {[$#%>] ?}
send "[string trim $setup]; echo read''y\\r"
expect ready
foreach line [split [string trim $lines] "\\n"] {
	set at [string first = $line]
	set typed [string range $line 0 $at-1]
	set wanted [string range $line $at+1 end]
	send "$typed\\t\\r"
	expect -ex "($wanted)" {} timeout { puts "\\nnot $wanted"; exit 1 } eof { exit 1 }
}
`;

interface Shell {
  readonly command: readonly string[];
  /** Loads the completion, and prints the arguments that `softquota` gets. */
  readonly setup: string;
}

const posix = 'softquota() { echo "($*)"; }';
const shells: Readonly<Record<string, Shell>> = {
  bash: {
    command: ['bash', '--norc', '--noprofile', '-i'],
    setup: `${posix}; source ${share}/completions/softquota.bash`,
  },
  zsh: {
    command: ['zsh', '-f', '-i'],
    setup: `${posix}; fpath=(${share}/completions $fpath); autoload -U compinit; compinit -u -D`,
  },
  fish: {
    command: ['fish', '--no-config', '-i'],
    setup: `function softquota; echo "($argv)"; end; source ${share}/completions/softquota.fish`,
  },
};

for (const [name, { command, setup }] of Object.entries(shells)) {
  t.test(`${name} completes commands, options, paths, and the words that an option knows`, async t => {
    const folder = t.testdir({ 'quota-app.ini': '', 'quota-backup.json': '', typist });
    const lines = [
      'softquota rul=rule',
      'softquota rule cre=rule create',
      'softquota rule create --lim=rule create --limit',
      'softquota user list --type o=user list --type organization',
      'softquota user --type list=user --type list',
      'softquota serve --config quota-a=serve --config quota-app.ini',
      'softquota backup quota-b=backup quota-backup.json',
    ];
    const words = [...command, '|', `cd ${folder}; ${setup}`, '|', ...lines];
    const env = { TERM: 'xterm', HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
    const typed = await run('expect', [join(folder, 'typist'), ...words], { env, cwd: folder });
    t.equal(typed.code, 0, typed.stdout + typed.stderr);
  });
}

t.test('man shows both pages, and groff has no complaint about them', async t => {
  for (const [page, title, ...words] of [
    ['man/softquota.1', 'SOFTQUOTA(1)', 'softquota rule create', '--check-config', 'EXIT STATUS'],
    ['man/app.ini.5', 'APP.INI(5)', '[quota.default]', 'TOTAL', 'SOFTQUOTA__SECTION__KEY'],
  ] as const) {
    const shown = await run('man', ['--warnings', '-l', join(share, page)], {
      env: { MANWIDTH: '80', MANPAGER: 'cat', LC_ALL: 'C.UTF-8' },
    });
    t.equal(shown.code, 0);
    t.equal(shown.stderr, '');
    t.ok(shown.stdout.startsWith(title));
    for (const word of words) t.ok(shown.stdout.includes(word), word);
  }
});
