/** The tokens of a user: listed, made, revoked. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import type { CreatedToken, NewToken, Token } from '../../../src/wire/index.ts';
import { createToken, revokeToken, tokensQuery } from '../api/account-queries.ts';
import { refresh } from '../api/client.ts';
import { Confirm, Dialog } from './dialog.tsx';
import { Choice, Field } from './field.tsx';
import { Time } from './figures.tsx';
import { Name } from './name.tsx';
import { Panel } from './page.tsx';
import { Answered, Empty, Fault } from './states.tsx';
import { Table } from './table.tsx';

export interface TokensProps {
  /** The login. */
  readonly user: string;
  /** The account is an administrator's, whose tokens may give more. */
  readonly isAdmin: boolean;
}

export function Tokens({ user, isAdmin }: TokensProps) {
  const tokens = useQuery(tokensQuery(user));
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<CreatedToken | null>(null);
  const [revoking, setRevoking] = useState<Token | null>(null);
  return (
    <Panel
      title="Tokens"
      actions={
        <button type="button" onClick={() => setMaking(true)}>
          New token
        </button>
      }
    >
      <Answered query={tokens} what="the tokens" rows={2}>
        {list =>
          list.length === 0 ? (
            <Empty>No tokens yet. Create one for scripts or to sign in.</Empty>
          ) : (
            <Table
              caption="Tokens"
              rows={list}
              keyOf={({ id }) => id}
              columns={[
                { key: 'name', title: 'Name', cell: ({ name }) => <Name>{name}</Name> },
                {
                  key: 'end',
                  title: 'Last characters',
                  isWide: true,
                  cell: token => <code>{token.token_last_eight}</code>,
                },
                { key: 'scopes', title: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
                {
                  key: 'used',
                  title: 'Last used',
                  isWide: true,
                  cell: token => <Time at={token.last_used_at} />,
                },
                {
                  key: 'expires',
                  title: 'Expires',
                  isWide: true,
                  cell: token => <Time at={token.expires_at} />,
                },
                {
                  key: 'revoke',
                  title: 'Revoke',
                  cell: token => (
                    <button type="button" class="quiet" onClick={() => setRevoking(token)}>
                      Revoke{' '}
                      <span class="visually-hidden">
                        the token <Name>{token.name}</Name>
                      </span>
                    </button>
                  ),
                },
              ]}
            />
          )
        }
      </Answered>
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
        <Confirm
          title="Revoke this token?"
          action="Revoke the token"
          done="The token is revoked."
          isDangerous
          act={async () => {
            await revokeToken(user, revoking.id);
            await refresh();
          }}
          onClose={() => setRevoking(null)}
        >
          <p>
            Programs that use <Name>{revoking.name}</Name> are refused from then on. This cannot be undone.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

/**
 * Scopes that a new token may get, by the words to choose from; administrators may choose the last one, too.
 */
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
  const [failure, setFailure] = useState<unknown>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      // To the end of the day, where the reader is.
      const expires = lastDay === '' ? null : new Date(`${lastDay}T23:59:59`).toISOString();
      const scopes = choices[Number(choice)]?.scopes ?? [];
      const made = await createToken(user, { name, scopes, expires_at: expires });
      await refresh();
      onClose(made);
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <Dialog title="New token" onClose={() => onClose(null)}>
      <form onSubmit={event => void submit(event)}>
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
        {failure !== null && <Fault of={failure} />}
        <div class="actions">
          <button type="button" onClick={() => onClose(null)}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={name.trim() === ''}>
            Create token
          </button>
        </div>
      </form>
    </Dialog>
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
          <button type="button" onClick={() => void navigator.clipboard.writeText(token.sha1)}>
            Copy
          </button>
        )}
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
