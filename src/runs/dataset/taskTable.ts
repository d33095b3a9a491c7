import type { AbortSignalLike } from '../../base/async.ts';
import { createTask } from '../../core/dataset/createTask.ts';
import type { Problem } from '../../core/dataset/problem.ts';
import { resolveTaskSettings } from '../../core/dataset/settings.ts';
import type { RowValue, TableRow } from '../../core/dataset/table/tableRow.ts';
import { taskSource } from '../../core/dataset/taskSource.ts';
import { Turns } from '../../files/turns.ts';
import type { TaskDataset } from '../../protocol/recipeKeys/recipe.ts';
import type { DataTable, OnWalk } from './dataTable.ts';

/** Training problems of a generated task as rows, identical to those in a run with the same seed. */
export class TaskTable implements DataTable {
	readonly format = 'task';
	readonly size = null;
	readonly stamp: string;
	readonly rowCount: number;
	readonly complete = true;
	readonly #problem: (index: number) => Problem;

	/** Fails with `invalid` if the settings do not define a task. */
	constructor(dataset: TaskDataset, rows: number, seed: number) {
		const source = taskSource(createTask(dataset));
		// Fail here if the settings leave nothing to train on.
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

/** Converts a problem to a dataset row; extra fields become separate columns. */
export function problemRow({ prompt, answer, solution, row }: Problem): RowValue {
	return { ...row, prompt, answer, solution };
}
