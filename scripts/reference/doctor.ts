/** docs/doctor.md: what doctor looks at, and every finding that it knows. */

import { daemonFindings, doctorFindings, type FindingEntry } from '../../src/health/index.ts';

const introduction = `# softquota doctor

\`softquota doctor\` checks everything between a push and an answer. It says what is wrong, where it is wrong, and how to fix
it. It changes nothing.

\`\`\`text
wrong (hook): /srv/git/alice/app.git: there is no pre-receive hook
    softquota hooks install /srv/git/alice/app.git
\`\`\`

Follow the line below a finding exactly: it is a command for a root shell, or a key to set in app.ini and the command that
makes the daemon apply it. If only a person can decide, the line says what about. Exit status 1 means that something is wrong;
with notices alone the exit status is 0. \`--json\` gives the findings as a list of \`code\`, \`severity\`, \`message\`, \`mend\`.

Run doctor as root. It then acts as each user that repositories belong to, because git runs as this user, and asks the system
whether the user can reach the socket and the hooks; groups, access control lists and directory services all count. As another
user, doctor checks what that user may see, and \`not_looked\` names the rest. Without a daemon, or with a faulty app.ini, it
checks everything else.

doctor searches for all repositories, for 20 seconds at most, and checks 500 of them closely: first those that seem to have no
hooks, then others at equal distances. If nothing is wrong, the last lines say how many repositories there were.
`;

export function doctorReference(): string {
  return [
    introduction,
    '## What doctor finds',
    '',
    ...tableOf(doctorFindings),
    '## What the daemon finds',
    '',
    'Doctor asks the daemon for these findings. A finding that comes from the last sweep, such as `unread` and `leftover`,',
    'disappears with the next sweep: its fix ends with `softquota scan`.',
    '',
    ...tableOf(daemonFindings),
  ].join('\n');
}

function tableOf(entries: Readonly<Record<string, FindingEntry>>): string[] {
  const rows = Object.entries(entries).map(
    ([code, { severity, meaning, mend }]) => `| \`${code}\` | ${severity} | ${meaning} | ${mend} |`,
  );
  return ['| code | | meaning | how to fix it |', '|---|---|---|---|', ...rows, ''];
}
