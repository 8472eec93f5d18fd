/** docs/doctor.md: what doctor looks at, and every finding that it knows. */

import { doctorFindings } from '../../src/doctor/index.ts';
import { daemonFindings, type FindingEntry } from '../../src/health/index.ts';

const introduction = `# softquota doctor

\`softquota doctor\` looks at everything between a push and an answer, and says what is wrong, where, and what mends it. It
changes nothing.

\`\`\`text
wrong (hook_not_executable): /srv/git/alice/app.git: hooks/pre-receive is not executable, and git passes over it
    softquota hooks install /srv/git/alice/app.git
\`\`\`

The line below a finding is for you to follow as it stands: a command for a root shell, or a key to be set in app.ini and the
command that makes the daemon take it. Where only a person can decide, it says what about. Exit status 1 means that something
is wrong; notices alone are 0. \`--json\` gives the findings as a list of \`code\`, \`severity\`, \`message\`, \`mend\`.

Run it as root. Then it takes the place of every user that repositories belong to, whom git runs as, and asks the system whether
that user gets at the socket and the hooks; groups, access control lists and directory services all count. As another user it
looks at what it may, and \`not_looked\` names the rest. Without a daemon, or with a faulty app.ini, it looks at all else.

All repositories are looked for, for 20 seconds at most, and 500 of them are looked at closely: first those that seem to have no
hooks, then others in equal distances. When nothing is wrong the last lines say how many there were.
`;

export function doctorReference(): string {
  return [
    introduction,
    '## What doctor finds',
    '',
    ...tableOf(doctorFindings),
    '## What the daemon finds',
    '',
    'Doctor asks the daemon for these. What is known from the last sweep, such as `unread` and `leftover`, goes with the',
    'next one: their mends end with `softquota scan`.',
    '',
    ...tableOf(daemonFindings),
  ].join('\n');
}

function tableOf(entries: Readonly<Record<string, FindingEntry>>): string[] {
  const rows = Object.entries(entries).map(
    ([code, { severity, meaning, mend }]) => `| \`${code}\` | ${severity} | ${meaning} | ${mend} |`,
  );
  return ['| code | | what it means | what mends it |', '|---|---|---|---|', ...rows, ''];
}
