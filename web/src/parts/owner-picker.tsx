/** Field that selects owners by parts of their names. */

import { useQuery } from '@tanstack/preact-query';
import { useEffect, useState } from 'preact/hooks';
import { printable } from '../../../src/text.ts';
import { usersQuery } from '../api/queries.ts';
import { announce } from './announcer.tsx';
import { Button } from './button.tsx';
import { Field } from './field.tsx';
import { Name, Others } from './name.tsx';
import { useSettled } from './settled.ts';

interface OwnerPickerProps {
  readonly label: string;
  /** Text if nobody is selected. */
  readonly none?: string;
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

const shownChosen = 50;
const settledMs = 120;

export function OwnerPicker({ label, none = 'None.', chosen, onChange }: OwnerPickerProps) {
  const [text, setText] = useState('');
  const [isEntered, setEntered] = useState(false);
  const asked = useSettled(text.trim(), settledMs);
  const found = useQuery({ ...usersQuery(asked), enabled: asked !== '' });
  const inIt = new Set(chosen);
  const { entries = [], total = 0 } = found.data ?? {};
  const offered = entries.map(({ login }) => login).filter(login => !inIt.has(login));
  const add = (login: string) => {
    onChange([...chosen, login]);
    setText('');
    announce(`${printable(login)} is added.`);
  };
  const isFound = text.trim() === asked && found.data !== undefined && !found.isPlaceholderData;
  useEffect(() => {
    // Enter may come before the answer. Then the first match of this text is added, and not one of an earlier
    // text.
    if (!isEntered || !isFound) return;
    setEntered(false);
    const [first] = offered;
    if (first !== undefined && text.trim() !== '') add(first);
  }, [isEntered, isFound]);
  const remove = (login: string) => {
    onChange(chosen.filter(each => each !== login));
    announce(`${printable(login)} is removed.`);
  };
  return (
    <fieldset class="stack">
      <legend>{label}</legend>
      {chosen.length === 0 ? (
        <p class="quiet-text">{none}</p>
      ) : (
        <ul class="row">
          {chosen.slice(0, shownChosen).map(login => (
            <li key={login} class="mark">
              <Name>{login}</Name>{' '}
              <Button look="quiet" onClick={() => remove(login)}>
                <span aria-hidden="true">✕</span>
                <span class="visually-hidden">
                  Remove <Name>{login}</Name>
                </span>
              </Button>
            </li>
          ))}
          <Others count={chosen.length - shownChosen} />
        </ul>
      )}
      <Field
        label="Add an owner"
        type="search"
        value={text}
        onInput={typed => {
          setText(typed);
          setEntered(false);
        }}
        onEnter={() => setEntered(text.trim() !== '')}
        hint="Part of the name; Enter adds the first owner found"
      />
      {asked !== '' && found.data !== undefined && (
        <ul class="row" aria-label="Owners found">
          {offered.length === 0 && (
            <li class="quiet-text">
              {total > entries.length
                ? `The first ${entries.length} are chosen already: type more of the name.`
                : "No other owner's name contains this text."}
            </li>
          )}
          {offered.map(login => (
            <li key={login}>
              <Button onClick={() => add(login)}>
                <span aria-hidden="true">+ </span>
                <Name>{login}</Name>
              </Button>
            </li>
          ))}
        </ul>
      )}
    </fieldset>
  );
}
