import './verification.css';
import {
	type ResultCommand,
	type ResultEvent,
	resultEventSchema,
	resultRequests,
} from '../../src/protocol/verificationMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { App } from './app.ts';
import { ResultsModel } from './resultsModel.ts';
import { type SavedState, savedStateSchema } from './savedState.ts';

registerControls();

const bridge = new Bridge<ResultEvent, ResultCommand, SavedState, typeof resultRequests>({
	events: resultEventSchema,
	requests: resultRequests,
	state: savedStateSchema,
	onFault: (message) => report(message),
});

function report(message: string): void {
	bridge.post({ type: 'fault', message: message.slice(0, 20_000) });
}
window.addEventListener('error', ({ message, error }) => {
	// Not an error: rows that were measured made others come into view, which are measured in the next frame.
	if (message.startsWith('ResizeObserver loop')) return;
	report(error instanceof Error ? (error.stack ?? message) : message);
});
window.addEventListener('unhandledrejection', ({ reason }) => report(String(reason)));

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
