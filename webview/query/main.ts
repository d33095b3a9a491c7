import './query.css';
import {
	type QueryCommand,
	type QueryEvent,
	queryEventSchema,
	queryRequests,
} from '../../src/protocol/queryMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { reportFaults } from '../lib/faultReports.ts';
import { App } from './app.ts';
import { QueryModel } from './queryModel.ts';
import { type SavedState, savedStateSchema } from './savedState.ts';

registerControls();

const report = reportFaults((message) => bridge.post({ type: 'fault', message }));
const bridge = new Bridge<QueryEvent, QueryCommand, SavedState, typeof queryRequests>({
	events: queryEventSchema,
	requests: queryRequests,
	state: savedStateSchema,
	onFault: report,
});

const model = new QueryModel(
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
	if (change === 'question') bridge.saveState(model.saved);
});
bridge.onEvent((event) => model.receive(event));
bridge.post({ type: 'ready' });
