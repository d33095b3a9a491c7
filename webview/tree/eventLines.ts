import { readTreeEventLines } from '../../src/protocol/treeEventReader.ts';
import type { TreeEvent, TreeEventOf } from '../../src/protocol/treeLog.ts';

const selectionHead = '{"t":"select",';

/**
 * Parses event lines as read by `readTreeEventLines`. Selections are decoded lazily, because they make up half of a
 * large log and the tree does not depend on them.
 */
export function eventsOfLines(lines: string): TreeEvent[] {
	if (lines === '') return [];
	const all = lines.split('\n');
	const eager = readTreeEventLines(all.filter((line) => !line.startsWith(selectionHead)).join('\n'));
	let at = 0;
	return all.map((line) =>
		line.startsWith(selectionHead) ? (new LazySelection(line) as unknown as TreeEvent) : (eager[at++] as TreeEvent),
	);
}

type Selection = Pick<TreeEventOf<'select'>, 'at' | 'path' | 'candidates'>;

/** A lazily decoded selection. An invalid line yields an empty selection. */
class LazySelection implements Selection {
	readonly t = 'select';
	#line: string;
	#value: Selection | null = null;

	constructor(line: string) {
		this.#line = line;
	}

	get at(): number {
		return this.#read().at;
	}

	get path(): number[] {
		return this.#read().path;
	}

	get candidates(): TreeEventOf<'select'>['candidates'] {
		return this.#read().candidates;
	}

	toJSON(): unknown {
		return { t: this.t, ...this.#read() };
	}

	#read(): Selection {
		if (this.#value === null) {
			const [event] = readTreeEventLines(this.#line);
			this.#value =
				event?.t === 'select'
					? { at: event.at, path: event.path, candidates: event.candidates }
					: { at: 0, path: [], candidates: undefined };
			this.#line = '';
		}
		return this.#value;
	}
}
