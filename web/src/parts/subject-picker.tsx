/** Tree of checkboxes for the kinds of data that a rule limits. */

import { useId } from 'preact/hooks';
import type { RuleSubject } from '../../../src/quota/index.ts';
import { type Branch, tickOf, toggled, wholeTree } from '../policy/subject-tree.ts';
import { kindWords } from './bar.tsx';

interface SubjectPickerProps {
  readonly chosen: readonly RuleSubject[];
  readonly onChange: (chosen: readonly RuleSubject[]) => void;
}

interface LabelledPickerProps extends SubjectPickerProps {
  readonly label: string;
}

export function SubjectPicker({ label, chosen, onChange }: LabelledPickerProps) {
  const hint = useId();
  return (
    <fieldset aria-describedby={hint}>
      <legend>{label}</legend>
      <div class="tree">
        <Node branch={wholeTree} chosen={chosen} onChange={onChange} />
      </div>
      <p id={hint} class="quiet-text small">
        {chosen.length === 0 ? (
          'No kind of data is chosen, so the rule would limit nothing.'
        ) : (
          <code>{chosen.join(' ')}</code>
        )}
      </p>
    </fieldset>
  );
}

interface NodeProps extends SubjectPickerProps {
  readonly branch: Branch;
}

function Node({ branch: { subject, below }, chosen, onChange }: NodeProps) {
  const id = useId();
  const tick = tickOf(chosen, subject);
  return (
    <>
      <span class="check">
        <input
          id={id}
          type="checkbox"
          checked={tick === 'on'}
          indeterminate={tick === 'partly'}
          onChange={() => onChange(toggled(chosen, subject))}
        />
        <label for={id}>{kindWords(subject)}</label>
      </span>
      {below.length > 0 && (
        <ul>
          {below.map(each => (
            <li key={each.subject}>
              <Node branch={each} chosen={chosen} onChange={onChange} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
