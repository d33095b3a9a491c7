import './verification.css';
import {
	type ResultCommand,
	type ResultEvent,
	resultEventSchema,
	resultRequests,
} from '../../src/protocol/verificationMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { reportFaults } from '../lib/faultReports.ts';
import { App } from './app.ts';
import { ResultsModel } from './resultsModel.ts';
import { type SavedState, savedStateSchema } from './savedState.ts';

registerControls();

const report = reportFaults((message) => bridge.post({ type: 'fault', message }));
const bridge = new Bridge<ResultEvent, ResultCommand, SavedState, typeof resultRequests>({
	events: resultEventSchema,
	requests: resultRequests,
	state: savedStateSchema,
	onFault: report,
});

const model = new ResultsModel(
	{
		request: (method, params, signal) => bridge.request(method, params, signal),
		post: (command) => bridge.post(command),
	},
	bridge.restoreState(),
);
const root = document.getElementById('app');
if (!root) throw new Error('The page has no #app.');
new App(root, model);

model.onChange(() => {
	const state = model.saved();
	if (state) bridge.saveState(state);
});
bridge.onEvent((event) => model.receive(event));
bridge.post({ type: 'ready' });
