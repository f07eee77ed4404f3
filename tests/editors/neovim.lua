-- What a person does in Neovim, and what they see: `luafile` runs the steps of RECLASS_STEPS in the file that is
-- open, and writes into RECLASS_SEEN what each of them showed. Neovim 0.7 and later.

local seen = {}

local function wait(what, there)
  if not vim.wait(20000, there, 20) then
    error('no ' .. what, 0)
  end
end

local function clients()
  return vim.lsp.get_clients and vim.lsp.get_clients() or vim.lsp.get_active_clients()
end

local function go(mark)
  vim.fn.cursor(1, 1)
  assert(vim.fn.search('\\V' .. mark, 'cW') > 0, 'no ' .. mark)
end

local function here()
  return { vim.api.nvim_buf_get_name(0), vim.fn.line('.') }
end

-- The window over the text, where hover is.
local function float()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then
      return window
    end
  end
end

local steps = {}

-- The problems of the file: line and code.
function steps.diagnostics()
  wait('diagnostics', function()
    return #vim.diagnostic.get(0) > 0
  end)
  return vim.tbl_map(function(found)
    return { found.lnum + 1, found.code, found.message }
  end, vim.diagnostic.get(0))
end

function steps.no_diagnostics()
  wait('end of the diagnostics', function()
    return #vim.diagnostic.get(0) == 0
  end)
end

function steps.hover(mark)
  go(mark)
  -- The first answers may come before the server has read the inventory.
  wait('hover over ' .. mark, function()
    vim.lsp.buf.hover()
    return vim.wait(1000, float, 20)
  end)
  local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(float()), 0, -1, true)
  vim.api.nvim_win_close(float(), true)
  return table.concat(lines, '\n')
end

function steps.definition(mark)
  go(mark)
  local before = here()
  wait('definition of ' .. mark, function()
    vim.lsp.buf.definition()
    return vim.wait(1000, function()
      return not vim.deep_equal(before, here())
    end, 20)
  end)
  return here()
end

-- Types over a text, without saving it.
function steps.type(before, after)
  go(before)
  vim.cmd('normal! ' .. #before .. 's' .. after)
  return vim.fn.getline('.')
end

-- Writes a line below that of the mark, and completes it, as CTRL-X CTRL-O does.
function steps.complete(mark, text)
  go(mark)
  local timer, limit = vim.loop.new_timer(), vim.loop.now() + 10000
  timer:start(0, 20, vim.schedule_wrap(function()
    local is_completed = vim.fn.line('.') > 1 and vim.fn.getline('.') ~= text
    if is_completed or vim.loop.now() > limit then
      vim.api.nvim_input('<Esc>')
    end
  end))
  local keys = vim.api.nvim_replace_termcodes('o<C-u>' .. text .. '<C-x><C-o>', true, false, true)
  vim.api.nvim_feedkeys(keys, 'x!', false)
  timer:stop()
  return vim.fn.getline('.')
end

function steps.rename(mark, name)
  go(mark)
  local function state()
    local all = {}
    for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
      table.insert(all, vim.api.nvim_buf_get_name(buffer) .. vim.api.nvim_buf_get_changedtick(buffer))
    end
    return table.concat(all, '\n')
  end
  local before = state()
  vim.lsp.buf.rename(name)
  wait('rename of ' .. mark, function()
    return state() ~= before
  end)
  vim.cmd('silent! wall')
end

-- An error in a step must end Neovim too, or the test waits for nothing.
local done, message = pcall(function()
  wait('server', function()
    return #clients() > 0
  end)
  for _, step in ipairs(vim.fn.json_decode(vim.env.RECLASS_STEPS)) do
    local name = table.remove(step, 1)
    local answer = steps[name](unpack(step))
    table.insert(seen, answer == nil and vim.NIL or answer)
  end
end)
local report = vim.fn.json_encode({ seen = seen, error = done and vim.NIL or tostring(message) })
vim.fn.writefile({ report }, vim.env.RECLASS_SEEN)
vim.cmd('qall!')
