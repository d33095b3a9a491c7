import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	type DatasetCommand,
	type DatasetSnapshot,
	noFilter,
	type RowSort,
} from '../../../../src/protocol/datasetMessages.ts';
import { DatasetModel, type DatasetPort } from '../../../../webview/dataset/datasetModel.ts';
import { firstState } from '../../../../webview/dataset/savedState.ts';

test('clicks on a column header count even if the host has not applied the previous ones yet', () => {
	const posted: DatasetCommand[] = [];
	const port = { post: (command: DatasetCommand) => posted.push(command), save() {} } as unknown as DatasetPort;
	const model = new DatasetModel(port);
	let number = 0;
	const snapshot = (version: number, sort: RowSort | null) =>
		({
			version,
			revealed: null,
			view: { number: ++number, filter: noFilter, sort, all: true },
		}) as unknown as DatasetSnapshot;
	const sorts = () => posted.map((command) => (command.type === 'show' ? command.sort : undefined));
	const down = { column: 'id', descending: true };
	const up = { column: 'id', descending: false };

	model.sortBy('id');
	assert.deepEqual(posted, []);
	model.receive(snapshot(1, null));
	model.sortBy('id');
	model.sortBy('id');
	assert.deepEqual(sorts(), [down, up]);
	// The host has only applied the first request.
	model.receive(snapshot(1, down));
	model.sortBy('id');
	assert.deepEqual(sorts(), [down, up, null]);
	model.receive(snapshot(1, up));
	model.receive(snapshot(1, null));
	model.sortBy('id');
	assert.deepEqual(sorts().at(-1), down);
	// A new version of the dataset shows the host's state.
	model.receive(snapshot(2, null));
	assert.equal(model.wanted?.sort, null);
	model.dispose();
});

test('after a reload, the first redraw already shows the restored filter', () => {
	const posted: DatasetCommand[] = [];
	const port = { post: (command: DatasetCommand) => posted.push(command), save() {} } as unknown as DatasetPort;
	const filter = { ...noFilter, text: 'carry' };
	const model = new DatasetModel(port, { ...firstState, filter });
	const seen: unknown[] = [];
	model.onChange((change) => {
		if (change === 'snapshot') seen.push(model.wanted?.filter);
	});
	const view = { number: 1, filter: noFilter, sort: null, all: true };
	model.receive({ version: 1, revealed: null, columns: [], overlaps: null, view } as unknown as DatasetSnapshot);
	assert.deepEqual(seen, [filter]);
	assert.deepEqual(posted, [{ type: 'show', filter, sort: null }]);
	model.dispose();
});

test('a row that a link refers to opens as soon as it is found, and only once', async () => {
	const asked: unknown[] = [];
	const port = {
		post() {},
		save() {},
		request: async (method: string, params: { row: number }) => {
			asked.push([method, params.row]);
			return { row: params.row };
		},
	} as unknown as DatasetPort;
	const model = new DatasetModel(port);
	const changes: unknown[] = [];
	model.onChange((change) => {
		if (change === 'revealed') changes.push(model.open?.index);
	});
	const view = { number: 1, filter: noFilter, sort: null, all: true };
	const receive = (more: object) => model.receive({ version: 1, view, ...more } as unknown as DatasetSnapshot);
	const revealed = { number: 1, row: 7 };
	receive({ rows: 5, complete: false, revealed });
	assert.deepEqual([asked, changes], [[], []]);
	receive({ rows: 9, complete: false, revealed });
	assert.deepEqual([asked, changes, model.saved.side], [[['row', 7]], [7], 'row']);
	receive({ rows: 12, complete: true, revealed });
	assert.equal(asked.length, 1);
	// The position of the row among filtered rows is unknown. A row past the end shows why it cannot be opened.
	receive({ rows: 12, complete: true, revealed: { number: 2, row: 40 }, view: { ...view, all: false } });
	assert.deepEqual(
		[asked.at(-1), changes],
		[
			['row', 40],
			[7, null],
		],
	);
	model.dispose();
});
