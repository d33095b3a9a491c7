import './playground.css';
import {
	type PlaygroundCommand,
	type PlaygroundEvent,
	type PlaygroundState,
	playgroundEventSchema,
	playgroundRequests,
	playgroundStateSchema,
} from '../../src/protocol/playgroundMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { reportFaults } from '../lib/faultReports.ts';
import { App } from './app.ts';
import { PlaygroundModel } from './playgroundModel.ts';

registerControls();

const report = reportFaults((message) => bridge.post({ type: 'fault', message }));
const bridge = new Bridge<PlaygroundEvent, PlaygroundCommand, PlaygroundState, typeof playgroundRequests>({
	events: playgroundEventSchema,
	requests: playgroundRequests,
	state: playgroundStateSchema,
	onFault: report,
});

const model = new PlaygroundModel(
	{
		post: (command) => bridge.post(command),
		request: (method, params, signal) => bridge.request(method, params, signal),
	},
	bridge.restoreState(),
);

const root = document.getElementById('app');
if (!root) throw new Error('The page has no #app.');
new App(root, model);

/** Saving copies everything: not at each letter. */
let timer: ReturnType<typeof setTimeout> | undefined;
const save = () => {
	clearTimeout(timer);
	timer = undefined;
	bridge.saveState(model.state);
};
model.onChange((change) => {
	if (change === 'written') return;
	timer ??= setTimeout(save, 300);
});
document.addEventListener('visibilitychange', () => timer !== undefined && save());
bridge.onEvent((event) => model.receive(event));
bridge.post({ type: 'ready' });
