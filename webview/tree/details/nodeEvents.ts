import type { TreeEvent, TreeEventOf } from '../../../src/protocol/treeLog.ts';
import { touchedBy } from '../draw/scene.ts';

/** Returns the last `most` event numbers for a node up to a replay position, and the total count. */
export function eventsOf(
	events: readonly TreeEvent[],
	id: number,
	moment: number,
	limit: number,
): { readonly numbers: readonly number[]; readonly count: number } {
	const numbers: number[] = [];
	let count = 0;
	for (let i = moment - 1; i >= 0; i--) {
		const event = events[i] as TreeEvent;
		const touches =
			touchedBy(event).includes(id) ||
			// Include the creation of child nodes.
			(event.t === 'node' && event.parents.includes(id)) ||
			(event.t === 'select' && (event.candidates?.some((candidate) => candidate.id === id) ?? false));
		if (!touches) continue;
		count++;
		if (numbers.length < limit) numbers.push(i);
	}
	return { numbers: numbers.reverse(), count };
}

type SideEvent = 'tool' | 'critique' | 'reference' | 'tokens';

/** Returns a node's events of one type up to a replay position, in order. */
export function eventsOfNode<T extends SideEvent>(
	events: readonly TreeEvent[],
	kind: T,
	id: number,
	moment: number,
): TreeEventOf<T>[] {
	const found: TreeEventOf<T>[] = [];
	for (let i = 0; i < moment; i++) {
		const event = events[i] as TreeEvent;
		if (event.t === kind && (event as TreeEventOf<SideEvent>).id === id) found.push(event as TreeEventOf<T>);
	}
	return found;
}

/** Returns a node's value in the last selection decision (UCT, PUCT), or null if not recorded. */
export function lastSelectionValue(events: readonly TreeEvent[], id: number, moment: number): number | null {
	for (let i = moment - 1; i >= 0; i--) {
		const event = events[i] as TreeEvent;
		if (event.t !== 'select') continue;
		const candidate = event.candidates?.find((one) => one.id === id);
		if (candidate !== undefined) return candidate.value;
	}
	return null;
}
