export * from './index.js'
import pipestate = require('./index.js')
export default pipestate
