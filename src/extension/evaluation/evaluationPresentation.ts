import { formatCount, formatCounted, formatTime } from '../../base/format.ts';
import type { ItemFlag } from '../ids.ts';
import { displayText } from '../runView.ts';
import type { TooltipRow } from '../treeRow.ts';
import type { EvaluationView } from './evaluationList.ts';

/** Formats accuracy with its interval: `81.5% (76.0 to 86.2)` */
export function passText({ accuracy, low, high }: NonNullable<EvaluationView['accuracy']>): string {
	const percent = (share: number) => (share * 100).toFixed(1);
	return `${percent(accuracy)}% (${percent(low)} to ${percent(high)})`;
}

/** Returns the tree row for an evaluation, shown below its run. @param now in seconds since the epoch */
export function presentEvaluation(view: EvaluationView, now: number): TooltipRow {
	const { accuracy, step, samples, count, done } = view;
	const problems = displayText(view.problems, 60);
	// A short label keeps the result next to it visible.
	const label = step === null ? problems : `step ${step}`;
	const on = `${problems}${step === null ? '' : ` at step ${step}`}`;
	const pass = accuracy === null ? null : `pass@1 ${passText(accuracy)}`;
	const whole = accuracy !== null && done !== null && done >= count;
	const state = whole
		? null
		: `interrupted${done === null ? '' : ` at ${formatCount(done)} of ${formatCounted(count, 'question')}`}`;
	const often = samples === 1 ? null : `${samples} samples`;
	const join = (separator: string, ...parts: readonly (string | null)[]) => parts.filter(Boolean).join(separator);
	return {
		label,
		description: join(' · ', pass, state, step === null ? null : problems, often),
		icon: whole ? { id: 'beaker', color: null } : { id: 'beaker-stop', color: null },
		contextValue: 'evaluation' satisfies ItemFlag,
		spoken: join(', ', `evaluation on ${on}`, pass, state, often),
		tooltip: [
			['Evaluation', displayText(view.name, 120)],
			['Questions', `${problems}, ${done === null || done === count ? count : `${done} of ${count}`}`],
			['Samples', `${samples} per question`],
			...(accuracy === null ? [] : [['pass@1', `${passText(accuracy)}, 95% interval`] as const]),
			...(whole ? [] : [['Action', 'To continue, evaluate the same checkpoint with the same settings.'] as const]),
			['Started', formatTime(view.created, now)],
			['Folder', displayText(view.folder, 400)],
		],
	};
}
