import './tree.css';
import { type TreeViewCommand, type TreeViewEvent, treeViewEventSchema } from '../../src/protocol/treeMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { reportFaults } from '../lib/faultReports.ts';
import { App } from './app.ts';
import { type SavedState, savedStateSchema } from './savedState.ts';
import { TreeModel } from './treeModel.ts';

registerControls();

const report = reportFaults((message) => bridge.post({ type: 'fault', message }));
const bridge = new Bridge<TreeViewEvent, TreeViewCommand, SavedState, Record<never, never>>({
	events: treeViewEventSchema,
	requests: {},
	state: savedStateSchema,
	onFault: report,
});

const model = new TreeModel((command) => bridge.post(command), bridge.restoreState());

const root = document.getElementById('app');
if (!root) throw new Error('The page has no #app.');
new App(root, model);

/** While events pour in, the state is written now and then, and it does not change by them. */
model.onChange((changes) => {
	if (changes.size === 1 && (changes.has('events') || changes.has('moment'))) return;
	const state = model.saved();
	if (state) bridge.saveState(state);
});
bridge.onEvent((event) => model.receive(event));
bridge.post({ type: 'ready' });
