import type { AbortSignalLike } from '../../base/async.ts';
import { createTask } from '../../core/dataset/createTask.ts';
import type { Problem } from '../../core/dataset/problem.ts';
import { resolveTaskSettings } from '../../core/dataset/settings.ts';
import type { RowValue, TableRow } from '../../core/dataset/table/tableRow.ts';
import { taskSource } from '../../core/dataset/taskSource.ts';
import { Turns } from '../../files/turns.ts';
import type { TaskDataset } from '../../protocol/recipe.ts';
import type { DataTable, OnWalk } from './dataTable.ts';

/** The training problems of a generated task under a seed, as rows: those that a run with that seed is given. */
export class TaskTable implements DataTable {
	readonly format = 'task';
	readonly size = null;
	readonly stamp: string;
	readonly rowCount: number;
	readonly complete = true;
	readonly #problem: (index: number) => Problem;

	/** Fails with `invalid` for settings that make no task. */
	constructor(dataset: TaskDataset, rows: number, seed: number) {
		const source = taskSource(createTask(dataset));
		// One that leaves nothing to train on says so here.
		source.training(seed, 0);
		this.stamp = JSON.stringify([resolveTaskSettings(dataset), rows, seed]);
		this.rowCount = rows;
		this.#problem = (index) => source.training(seed, index);
	}

	index(): Promise<void> {
		return Promise.resolve();
	}

	rows(from: number, to: number): Promise<TableRow[]> {
		const end = Math.min(to, this.rowCount);
		return Promise.resolve(
			Array.from({ length: Math.max(0, end - from) }, (_, i) => ({
				row: from + i,
				value: problemRow(this.#problem(from + i)),
				fault: null,
			})),
		);
	}

	async *scan(signal?: AbortSignalLike, onWalk?: OnWalk): AsyncGenerator<TableRow> {
		const turns = new Turns(signal);
		for (let row = 0; row < this.rowCount; row++) {
			yield { row, value: problemRow(this.#problem(row)), fault: null };
			if (!turns.due) continue;
			await turns.pass();
			onWalk?.(row + 1, this.rowCount);
		}
	}

	close(): Promise<void> {
		return Promise.resolve();
	}
}

/** A problem as a line of a dataset: what its row holds beside stays in columns of its own. */
export function problemRow({ prompt, answer, solution, row }: Problem): RowValue {
	return { ...row, prompt, answer, solution };
}
