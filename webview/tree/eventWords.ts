import { formatCounted, formatDuration, formatNumber } from '../../src/base/format.ts';
import { stopText } from '../../src/core/search/stopText.ts';
import type { TreeEvent, TreeEventType } from '../../src/protocol/treeLog.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

/** Labels for event types. */
export const eventNames: Readonly<Record<TreeEventType, string>> = {
	start: 'Start',
	node: 'Expansion',
	tokens: 'Tokens',
	score: 'Evaluation',
	select: 'Selection',
	visit: 'Backup',
	prune: 'Pruning',
	restore: 'Restored',
	merge: 'Merge',
	critique: 'Critique',
	tool: 'Tool',
	reference: 'Reference',
	fault: 'Error',
	resume: 'Continued',
	end: 'End',
};

const resumeWords = {
	more: 'Search continued',
	branch: 'Search continued from this node',
	edit: 'Step edited by user, search continued',
	force: 'Token forced by user, search continued',
} as const;

/** Returns a short description of an event, without its label. */
export function describeEvent(event: TreeEvent): string {
	switch (event.t) {
		case 'start':
			return `${plainLabel(event.strategy, 60)} started`;
		case 'node': {
			const [parent] = event.parents;
			const under = parent === undefined ? '' : ` under ${event.parents.slice(0, 4).join(', ')}`;
			return `node ${event.id}${under}: ${plainLabel(event.label ?? event.text, 80)}`;
		}
		case 'tokens':
			return `${formatCounted(event.text.length, 'token')} for node ${event.id}`;
		case 'score':
			return `${plainLabel(event.scorer, 40)} scored node ${event.id} ${formatNumber(event.value, 3)}${
				event.note === undefined ? '' : `: ${plainLabel(event.note, 80)}`
			}`;
		case 'select': {
			const to = event.path.at(-1);
			const among = event.candidates?.length ?? 0;
			return `${to === undefined ? 'nothing' : `node ${to}`}${among > 1 ? ` among ${among}` : ''}, at depth ${Math.max(0, event.path.length - 1)}`;
		}
		case 'visit': {
			const count = event.path.length;
			return `${formatNumber(event.values.at(-1) ?? null, 3)} along ${formatCounted(count, 'node')} from node ${event.path.at(-1) ?? '?'}`;
		}
		case 'prune':
			return `node ${event.id}: ${plainLabel(event.reason, 80)}`;
		case 'restore':
			return `node ${event.id} restored`;
		case 'merge':
			return `node ${event.id} merged into node ${event.into}`;
		case 'critique':
			return `node ${event.id}: ${event.missing.length} missing, ${event.superfluous.length} superfluous`;
		case 'tool':
			return `${plainLabel(event.name, 40)}${event.error === undefined ? '' : ' failed'}${
				event.seconds === undefined ? '' : `, ${formatDuration(event.seconds)}`
			}`;
		case 'reference':
			return `${plainLabel(event.label, 40)} in node ${event.id}${
				event.supported === null ? '' : event.supported ? ', supported' : ', not supported'
			}`;
		case 'fault':
			return `${event.part}: ${plainLabel(event.message, 160)}`;
		case 'resume':
			return `${resumeWords[event.action]}${event.node === null ? '' : `, node ${event.node}`}`;
		case 'end':
			return stopText[event.stop];
	}
}
