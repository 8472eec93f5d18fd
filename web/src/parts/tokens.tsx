/** Tokens of a user: the list, and dialogs to create and revoke them. */

import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { printable } from '../../../src/text.ts';
import type { CreatedToken, NewToken, Token } from '../../../src/wire/index.ts';
import { ask } from '../api/ask.ts';
import { createToken, tokensQuery } from '../api/queries.ts';
import { Button } from './button.tsx';
import { Confirm, Dialog } from './dialog.tsx';
import { Choice, Field } from './field.tsx';
import { Time } from './figures.tsx';
import { Name } from './name.tsx';
import { Panel } from './page.tsx';
import { Query } from './states.tsx';
import { RowButton, Table } from './table.tsx';

interface TokensProps {
  readonly user: string;
  /** True for an administrator's account, whose tokens may have more scopes. */
  readonly isAdmin: boolean;
}

export function Tokens({ user, isAdmin }: TokensProps) {
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<CreatedToken | null>(null);
  const [revoking, setRevoking] = useState<Token | null>(null);
  return (
    <Panel title="Tokens" actions={<Button onClick={() => setMaking(true)}>New token</Button>}>
      <Query of={tokensQuery(user)} what="the tokens" rows={2}>
        {list => (
          <Table
            caption="Tokens"
            empty="No tokens yet. Create one for scripts or to sign in."
            rows={list}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Name', cell: ({ name }) => <Name>{name}</Name> },
              {
                title: 'Last characters',
                isWide: true,
                cell: token => <code>{token.token_last_eight}</code>,
              },
              { title: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
              { title: 'Last used', isWide: true, cell: token => <Time at={token.last_used_at} /> },
              { title: 'Expires', isWide: true, cell: token => <Time at={token.expires_at} /> },
              {
                title: 'Revoke',
                cell: token => (
                  <RowButton
                    words="Revoke"
                    about={`the token ${printable(token.name)}`}
                    onClick={() => setRevoking(token)}
                  />
                ),
              },
            ]}
          />
        )}
      </Query>
      {isMaking && (
        <NewTokenDialog
          user={user}
          isAdmin={isAdmin}
          onClose={token => {
            setMaking(false);
            setMade(token);
          }}
        />
      )}
      {made !== null && <Shown token={made} onClose={() => setMade(null)} />}
      {revoking !== null && (
        <RevokeToken user={user} token={revoking} onClose={() => setRevoking(null)}>
          <Name>{revoking.name}</Name>
        </RevokeToken>
      )}
    </Panel>
  );
}

interface RevokeTokenProps {
  readonly user: string;
  readonly token: Token;
  readonly onClose: () => void;
  /** Name of the token in the question. */
  readonly children: ComponentChildren;
}

/** Revokes a token after a question. */
export function RevokeToken({ user, token, onClose, children }: RevokeTokenProps) {
  return (
    <Confirm
      title="Revoke this token?"
      action="Revoke the token"
      done="The token is revoked."
      isDangerous
      act={() => ask(['users', user, 'tokens', String(token.id)], { method: 'DELETE' })}
      onClose={onClose}
    >
      <p>Programs that use {children} are refused from then on. This cannot be undone.</p>
    </Confirm>
  );
}

/** Choices of scopes for a new token. The last one is for administrators only. */
const choices: readonly { readonly words: string; readonly scopes: NewToken['scopes'] }[] = [
  { words: 'Full account access', scopes: ['all'] },
  { words: 'See the usage of the account', scopes: ['read:user'] },
  { words: 'See the usage of the account and its organizations', scopes: ['read:user', 'read:organization'] },
  { words: 'See everything in softquota, change nothing', scopes: ['read:admin'] },
];

interface NewTokenProps extends TokensProps {
  readonly onClose: (made: CreatedToken | null) => void;
}

function NewTokenDialog({ user, isAdmin, onClose }: NewTokenProps) {
  const [name, setName] = useState('');
  const [choice, setChoice] = useState('0');
  const [lastDay, setLastDay] = useState('');
  const made = useRef<CreatedToken | null>(null);
  return (
    <Confirm
      title="New token"
      action="Create token"
      isReady={name.trim() !== ''}
      act={async () => {
        // The end of the day in the reader's time zone.
        const expires = lastDay === '' ? null : new Date(`${lastDay}T23:59:59`).toISOString();
        const scopes = choices[Number(choice)]?.scopes ?? [];
        made.current = await createToken(user, { name, scopes, expires_at: expires });
      }}
      onClose={() => onClose(made.current)}
    >
      <Field label="Name" value={name} onInput={setName} hint="What the token is for" required />
      <Choice
        label="Permissions"
        value={choice}
        onChoice={setChoice}
        options={choices.slice(0, isAdmin ? undefined : -1).map(({ words }, at) => [String(at), words])}
      />
      <Field
        label="Last valid day (optional)"
        type="date"
        value={lastDay}
        onInput={setLastDay}
        hint="Without a day, the token does not expire."
      />
    </Confirm>
  );
}

function Shown({ token, onClose }: { token: CreatedToken; onClose: () => void }) {
  return (
    <Dialog title="New token" onClose={onClose}>
      <p>The token is shown only once. Copy it now.</p>
      <p>
        <output class="code">{token.sha1}</output>
      </p>
      <div class="actions">
        {window.isSecureContext && (
          <Button onClick={() => void navigator.clipboard.writeText(token.sha1)}>Copy</Button>
        )}
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
