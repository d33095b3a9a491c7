import type { DashboardMark } from '../../../protocol/dashboardMessages.ts';
import type { EventLine } from '../../../protocol/eventLine.ts';
import { displayText } from '../../runView.ts';

/** Maximum number of marks kept; beyond this limit, the oldest non-stage marks are dropped. */
const maxMarks = 5000;

const words: Readonly<Record<string, string>> = {
	paused: 'paused',
	continued: 'continued',
	stopped: 'stopped',
	finished: 'finished',
};

/** Returns the chart mark for a run event, or null if it has none. */
export function markOf(event: EventLine): DashboardMark | null {
	const at = { step: event.step, time: event.time };
	const text = (value: unknown, longest = 120): string =>
		typeof value === 'string' ? displayText(value, longest) : typeof value === 'number' ? String(value) : '';
	switch (event.type) {
		case 'stage':
			return { ...at, kind: 'stage', label: text(event.name, 40) || 'stage' };
		case 'stage-ended': {
			const why = event.because === 'until' ? ', target reached' : '';
			return { ...at, kind: 'lifecycle', label: `${text(event.name, 40)} ended${why}` };
		}
		case 'checkpoint':
			return { ...at, kind: 'checkpoint', label: event.best === true ? 'best checkpoint' : 'checkpoint' };
		case 'hyperparameters': {
			const step = typeof event.fromStep === 'number' ? event.fromStep : event.step;
			return { ...at, step, kind: 'hyperparameters', label: changesText(event.changes) };
		}
		case 'alert':
			if (event.level === 'info') return null;
			return { ...at, kind: 'alert', label: text(event.message, 300) || 'alert' };
		case 'resumed': {
			const step = typeof event.fromStep === 'number' ? event.fromStep : event.step;
			return { ...at, step, kind: 'lifecycle', label: `resumed, attempt ${text(event.attempt)}` };
		}
		case 'crashed':
			return { ...at, kind: 'alert', label: `crashed: ${text(event.message, 300)}` };
		default: {
			const label = words[event.type];
			return label === undefined ? null : { ...at, kind: 'lifecycle', label };
		}
	}
}

function changesText(changes: unknown): string {
	if (typeof changes !== 'object' || changes === null) return 'hyperparameters changed';
	const parts = Object.entries(changes)
		.filter(([, value]) => typeof value === 'number')
		.slice(0, 8)
		.map(([name, value]) => `${displayText(name, 40)} = ${value}`);
	return parts.length === 0 ? 'hyperparameters changed' : parts.join(', ');
}

/** Adds marks in step order and keeps their number bounded. */
export function withMarks(marks: readonly DashboardMark[], events: readonly EventLine[]): DashboardMark[] {
	const all = [...marks, ...events.flatMap((event) => markOf(event) ?? [])].sort((a, b) => a.step - b.step);
	if (all.length <= maxMarks) return all;
	let excess = all.length - maxMarks;
	return all.filter((mark) => {
		if (excess === 0 || mark.kind === 'stage') return true;
		excess--;
		return false;
	});
}
