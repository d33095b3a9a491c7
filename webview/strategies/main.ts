import { registerControls } from '../lib/controls.ts';

registerControls();
