import './dataset.css';
import {
	type DatasetCommand,
	type DatasetEvent,
	datasetEventSchema,
	datasetRequests,
} from '../../src/protocol/datasetMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { reportFaults } from '../lib/faultReports.ts';
import { App } from './app.ts';
import { DatasetModel } from './datasetModel.ts';
import { type SavedState, savedStateSchema } from './savedState.ts';

registerControls();

const report = reportFaults((message) => bridge.post({ type: 'fault', message }));
const bridge = new Bridge<DatasetEvent, DatasetCommand, SavedState, typeof datasetRequests>({
	events: datasetEventSchema,
	requests: datasetRequests,
	state: savedStateSchema,
	onFault: report,
});

const model = new DatasetModel(
	{
		request: (method, params) => bridge.request(method, params),
		post: (command) => bridge.post(command),
	},
	bridge.restoreState(),
);
const root = document.getElementById('app');
if (!root) throw new Error('The page has no #app.');
new App(root, model);

bridge.saveState(model.saved);
model.onChange((change) => {
	if (change === 'shown') bridge.saveState(model.saved);
});
bridge.onEvent((event) => model.receive(event));
bridge.post({ type: 'ready' });
