import './comparison.css';
import {
	type ComparisonCommand,
	type ComparisonEvent,
	comparisonEventSchema,
	comparisonRequests,
} from '../../src/protocol/runComparisonMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { reportFaults } from '../lib/faultReports.ts';
import { App } from './app.ts';
import { ComparisonModel } from './comparisonModel.ts';
import { type SavedState, savedStateSchema } from './savedState.ts';

registerControls();

const report = reportFaults((message) => bridge.post({ type: 'fault', message }));
const bridge = new Bridge<ComparisonEvent, ComparisonCommand, SavedState, typeof comparisonRequests>({
	events: comparisonEventSchema,
	requests: comparisonRequests,
	state: savedStateSchema,
	onFault: report,
});

const model = new ComparisonModel(
	{
		post: (command) => bridge.post(command),
		request: (method, params, signal) => bridge.request(method, params, signal),
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
