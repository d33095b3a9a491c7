import { formatCounted } from '../base/format.ts';
import { editText } from '../core/diagnosis/recipeEdits.ts';
import { ownFormat } from '../runs/annotationFolder.ts';
import { diagnoseRun } from '../runs/diagnoseRun.ts';
import { type Inspection, inspectRun, type RolloutNumbers } from '../runs/inspectRun.ts';
import { anyRun } from './anyRun.ts';
import { printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';
import { text } from './options.ts';
import { formatNumber } from './textForms.ts';
import { defineVerb } from './verb.ts';

/** Maximum number of read errors shown; `--json` includes all of them. */
const maxShown = 20;
const maxErrors = 5;

export const inspectVerb = defineVerb({
	name: 'inspect',
	group: 'Runs',
	arguments: [{ name: 'folder', phrase: 'a folder', type: 'path' }],
	summary: 'Show the contents, read errors, and likely problems of a run from any trainer.',
	options: {
		format: text('NAME', 'Format to read the folder as, if several match: trl, verl, ... (docs/formats.md).'),
	},
	async run({ values, positionals, output }) {
		const run = await anyRun(positionals[0] as string, values.format);
		const controller = new AbortController();
		const off = onInterrupt(() => controller.abort());
		try {
			const printed = inspectProgress(output.isTerminal ? (text) => output.draw(text) : null);
			const inspection = await inspectRun(run, controller.signal, printed);
			printed(0, 0);
			const { alerts, kind, summary } = await diagnoseRun(run, { signal: controller.signal });
			output.object({ ...inspection, diagnosis: { kind, summary }, alerts });
			for (const line of linesOf(inspection)) output.line(printable(line));
			output.line(printable(`diagnosis: ${summary}`));
			for (const { level, step, message, action, recipe } of alerts) {
				output.line(printable(`${level} at step ${step}: ${message}${action === null ? '' : ` ${action}`}`));
				for (const edit of recipe?.edits ?? []) output.line(printable(`  recipe: ${editText(edit)}`));
			}
			return 0;
		} finally {
			off();
		}
	},
});

/** Returns a callback that draws read progress on a terminal; a `total` of 0 clears it. */
function inspectProgress(draw: ((text: string) => void) | null): (done: number, total: number) => void {
	let printed = 0;
	return (done, total) => {
		const now = performance.now();
		if (draw === null || (total > 0 && now - printed < 200)) return;
		printed = now;
		draw(total === 0 ? '\r\u001b[K' : `\r\u001b[Kstep ${done} of ${total}`);
	};
}

function linesOf(inspection: Inspection): string[] {
	const { folder, format, trainer, validation, metricRows, errors, notes, skipped } = inspection;
	const lost = skipped.reduce((sum, { records }) => sum + records, 0);
	return [
		`${folder}: ${trainer} (${format})`,
		...progressLines(inspection),
		`training: ${numbersText(inspection)}`,
		...(validation === null ? [] : [`evaluation: ${numbersText(validation)}`]),
		`metrics: ${formatCounted(metricRows, 'step')}`,
		...errors
			.slice(0, maxErrors)
			.map(({ message, rollouts }) => `error in ${formatCounted(rollouts, 'rollout')}: ${message}`),
		...(errors.length > maxErrors ? [`  and ${errors.length - maxErrors} more errors (use --json for all)`] : []),
		...notes.map((note) => `note: ${note}`),
		skipped.length === 0 ? 'skipped: nothing' : `skipped: ${formatCounted(lost, 'record')}`,
		...skipped.slice(0, maxShown).map(({ file, line, message }) => {
			return `  ${file}${line === null ? '' : `, line ${line}`}: ${message}`;
		}),
		...(skipped.length > maxShown ? [`  and ${skipped.length - maxShown} more (use --json for all)`] : []),
	];
}

/** Formats the status of runs that did not finish. */
function progressLines({ format, progress }: Inspection): string[] {
	if (progress === null) return ['status: unknown (the run record is unreadable)'];
	const { status, step, totalSteps, error } = progress;
	const at = totalSteps === null ? `step ${step}` : `step ${step} of ${totalSteps}`;
	// Other trainers' files do not record how the run ended.
	if (format !== ownFormat) {
		return totalSteps !== null && step !== null && step < totalSteps
			? [`last step: ${step} of ${totalSteps} (some steps are missing)`]
			: [];
	}
	if (status !== 'crashed') return [`status: ${status}, ${at}`];
	return [`status: crashed at ${at}: ${error ?? 'the engine exited without an error message.'}`];
}

function numbersText({ steps, groups, rollouts, nulls, meanReward, errored }: RolloutNumbers): string {
	const [first, last] = [steps?.[0], steps?.at(-1)];
	const range = first === undefined ? '' : first === last ? ` (${first})` : ` (${first} to ${last})`;
	return [
		...(steps === null ? [] : [`${formatCounted(steps.length, 'step')}${range}`]),
		formatCounted(groups, 'group'),
		formatCounted(rollouts, 'rollout'),
		`mean reward ${formatNumber(meanReward)}`,
		...(nulls === 0 ? [] : [`${nulls} without a reward`]),
		...(errored === 0 ? [] : [`${errored} with errors`]),
	].join(', ');
}
