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
import { type KeptView, type SavedState, savedStateSchema } from './savedState.ts';

registerControls();

const report = reportFaults((message) => bridge.post({ type: 'fault', message }));
const bridge = new Bridge<PanelEvent, PanelCommand, SavedState, typeof panelRequests>({
	events: panelEventSchema,
	requests: panelRequests,
	state: savedStateSchema,
	onFault: report,
});

const restored = bridge.restoreState();
const { continued, ...view } = restored ?? { continued: null };
const model = new RolloutsModel(
	(method, params, signal) => bridge.request(method, params, signal),
	() => bridge.post({ type: 'ready' }),
	restored === undefined ? undefined : (view as KeptView),
);
const root = document.getElementById('app');
if (!root) throw new Error('The page has no #app.');
const app = new App(
	root,
	model,
	() => bridge.post({ type: 'openDashboard' }),
	(command) => bridge.post(command),
);

const { continuations } = app;
if (continued) continuations.restore(continued);

const save = () => {
	const state = model.saved();
	if (state) bridge.saveState({ ...state, continued: continuations.kept() });
};
model.onChange(save);
/** Saving copies all texts: not at each letter. */
let waiting = false;
const saveSoon = () => {
	if (waiting) return;
	waiting = true;
	setTimeout(() => {
		waiting = false;
		save();
	}, 300);
};
continuations.onDraft(saveSoon);
continuations.onChange(saveSoon);
bridge.onEvent((event) => {
	if (event.type === 'promptScan' || event.type === 'behaviourScan' || event.type === 'continuation') {
		app.receive(event);
		return;
	}
	model.receive(event);
	if (event.type === 'snapshot') app.forget();
});
bridge.post({ type: 'ready' });
