import './strategies.css';
import {
	strategiesEventSchema,
	strategiesRequests,
	strategiesStateSchema,
} from '../../src/protocol/strategiesMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { StrategiesModel } from './strategiesModel.ts';

startApp(
	{ events: strategiesEventSchema, requests: strategiesRequests, state: strategiesStateSchema },
	(bridge, root) => {
		const model = new StrategiesModel(bridge, bridge.restoreState());
		new App(root, model);
		return { model, saved: () => model.state };
	},
);
