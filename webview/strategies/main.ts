import './strategies.css';
import {
	type StrategiesCommand,
	type StrategiesEvent,
	type StrategiesState,
	strategiesEventSchema,
	strategiesRequests,
	strategiesStateSchema,
} from '../../src/protocol/strategiesMessages.ts';
import { Bridge } from '../lib/bridge.ts';
import { registerControls } from '../lib/controls.ts';
import { reportFaults } from '../lib/faultReports.ts';
import { App } from './app.ts';
import { StrategiesModel } from './strategiesModel.ts';

registerControls();

const report = reportFaults((message) => bridge.post({ type: 'fault', message }));
const bridge = new Bridge<StrategiesEvent, StrategiesCommand, StrategiesState, typeof strategiesRequests>({
	events: strategiesEventSchema,
	requests: strategiesRequests,
	state: strategiesStateSchema,
	onFault: report,
});

const model = new StrategiesModel(
	{
		post: (command) => bridge.post(command),
		request: (method, params, signal) => bridge.request(method, params, signal),
	},
	bridge.restoreState(),
);

const root = document.getElementById('app');
if (!root) throw new Error('The page has no #app.');
new App(root, model);

model.onChange(() => bridge.saveState(model.state));
bridge.onEvent((event) => model.receive(event));
bridge.post({ type: 'ready' });
