import './rollouts.css';
import {
	type PanelCommand,
	type PanelEvent,
	panelEventSchema,
	panelRequests,
} from '../../src/protocol/microscopeMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { reportFaults } from '../lib/faultReports.ts';
import { App } from './app.ts';
import { RolloutsModel } from './rolloutsModel.ts';
import { type SavedState, savedStateSchema } from './savedState.ts';

registerControls();

const report = reportFaults((message) => bridge.post({ type: 'fault', message }));
const bridge = new Bridge<PanelEvent, PanelCommand, SavedState, typeof panelRequests>({
	events: panelEventSchema,
	requests: panelRequests,
	state: savedStateSchema,
	onFault: report,
});

const model = new RolloutsModel(
	(method, params, signal) => bridge.request(method, params, signal),
	() => bridge.post({ type: 'ready' }),
	bridge.restoreState(),
);
const root = document.getElementById('app');
if (!root) throw new Error('The page has no #app.');
const app = new App(
	root,
	model,
	() => bridge.post({ type: 'openDashboard' }),
	(command) => bridge.post(command),
);

model.onChange(() => {
	const state = model.saved();
	if (state) bridge.saveState(state);
});
bridge.onEvent((event) => {
	if (event.type === 'promptScan' || event.type === 'behaviourScan' || event.type === 'continuation') {
		app.receive(event);
		return;
	}
	model.receive(event);
	if (event.type === 'snapshot') app.forget();
});
bridge.post({ type: 'ready' });
