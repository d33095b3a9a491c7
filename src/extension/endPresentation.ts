import { formatDuration, formatPercent } from '../base/format.ts';
import { readLogEnd } from '../runs/runReader.ts';
import { formatReward } from './runPresentation.ts';
import { displayText, elapsedOf, nameOf, type RunView } from './runView.ts';

/** Returns one sentence about the end of a run, including the cause of a crash. */
export async function presentEnd(view: RunView): Promise<string> {
	if (view.status === 'crashed' && view.record?.error === undefined) {
		return endText(view, lastWords(await readLogEnd(view.folder, 4096).catch(() => '')));
	}
	return endText(view, null);
}

/** @param lastLine last line of the engine log, used for a crash without an error in the record */
export function endText(view: RunView, lastLine: string | null): string {
	const name = nameOf(view);
	const { record } = view;
	const at = record === null || record.step === null ? '' : ` at step ${record.step}`;
	if (view.status === 'crashed') {
		if (record?.error) {
			const action = record.error.action ? ` ${displayText(record.error.action, 300)}` : '';
			return `${name} crashed${at}: ${displayText(record.error.message, 300)}${action}`;
		}
		const words = lastLine === null ? '' : ` Last log line: ${lastLine}`;
		return `${name} crashed${at}: the engine exited without an error message, possibly because it was killed or ran out of memory.${words}`;
	}
	const elapsed = elapsedOf(view, 0);
	const after = elapsed === null ? '' : ` after ${formatDuration(elapsed)}`;
	const values = [
		view.accuracy === null ? null : `held-out accuracy ${formatPercent(view.accuracy)}`,
		view.reward === null ? null : `reward ${formatReward(view.reward)}`,
	].filter((value) => value !== null);
	const tail = values.length === 0 ? '' : `: ${values.join(', ')}`;
	return `${name} ${view.status === 'finished' ? 'finished' : `stopped${at}`}${after}${tail}.`;
}

function lastWords(log: string): string | null {
	const line = log.trimEnd().split('\n').at(-1);
	return line ? displayText(line, 200) : null;
}
