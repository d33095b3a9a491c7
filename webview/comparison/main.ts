import './comparison.css';
import {
	type ComparisonCommand,
	type ComparisonEvent,
	comparisonEventSchema,
	comparisonRequests,
} from '../../src/protocol/runComparisonMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { App } from './app.ts';
import { ComparisonModel } from './comparisonModel.ts';
import { type SavedState, savedStateSchema } from './savedState.ts';

registerControls();

const bridge = new Bridge<ComparisonEvent, ComparisonCommand, SavedState, typeof comparisonRequests>({
	events: comparisonEventSchema,
	requests: comparisonRequests,
	state: savedStateSchema,
	onFault: (message) => report(message),
});

function report(message: string): void {
	bridge.post({ type: 'fault', message: message.slice(0, 20_000) });
}
window.addEventListener('error', ({ message, error }) => {
	// Not an error: rows that were measured made others come into view, which are measured in the next frame.
	if (message.startsWith('ResizeObserver loop')) return;
	report(error instanceof Error ? (error.stack ?? String(error)) : message);
});
window.addEventListener('unhandledrejection', ({ reason }) => report(String(reason)));

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
