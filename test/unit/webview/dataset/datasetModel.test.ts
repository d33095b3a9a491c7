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
		({ version, view: { number: ++number, filter: noFilter, sort, all: true } }) as unknown as DatasetSnapshot;
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
	model.receive({ version: 1, columns: [], overlaps: null, view } as unknown as DatasetSnapshot);
	assert.deepEqual(seen, [filter]);
	assert.deepEqual(posted, [{ type: 'show', filter, sort: null }]);
	model.dispose();
});
