-- Pandoc filter: keep in Markdown what Markdown has no form for.
--
-- The document's title becomes the first heading, and subtitle, authors and date lines below it. A slide's heading
-- names its number. Each cell of a table becomes one line, and a merged cell single cells. A picture becomes its
-- description. Without it pandoc leaves out the title, and writes "[TABLE]" for a table with merged cells.

local function flatten_cell(cell)
  local words = pandoc.Inlines {}
  local function add(block)
    if #words > 0 then words:insert(pandoc.Space()) end
    words:extend(block.text and { pandoc.Code((block.text:gsub("\n", " "))) } or block.content)
  end
  pandoc.Blocks(cell):walk { Plain = add, Para = add, Header = add, CodeBlock = add, LineBlock = function(lines)
    for _, line in ipairs(lines.content) do add(pandoc.Plain(line)) end
  end }
  return { pandoc.Plain(words:walk { LineBreak = pandoc.Space, SoftBreak = pandoc.Space }) }
end

function Table(wide)
  local simple = pandoc.utils.to_simple_table(wide)
  simple.headers = pandoc.List(simple.headers):map(flatten_cell)
  simple.rows = pandoc.List(simple.rows):map(function(row) return pandoc.List(row):map(flatten_cell) end)
  return pandoc.utils.from_simple_table(simple)
end

function Image(picture)
  return picture.caption
end

function Header(heading)
  local number = heading.identifier:match("^slide%-(%d+)$")
  if number then
    local name = "Slide " .. number
    local title = pandoc.utils.stringify(heading.content)
    heading.content = title == name and name or pandoc.Inlines { pandoc.Str(name .. ": ") } .. heading.content
  end
  return heading
end

function Pandoc(document)
  local head = pandoc.Blocks {}
  local title = document.meta.title and pandoc.utils.stringify(document.meta.title) or ""
  if title ~= "" then
    document.blocks = document.blocks:walk { Header = function(heading)
      heading.level = heading.level + 1
      return heading
    end }
    head:insert(pandoc.Header(1, pandoc.Inlines(title)))
  end
  for _, field in ipairs { "subtitle", "author", "date" } do
    local value = document.meta[field]
    local values = pandoc.utils.type(value) == "List" and value or { value }
    for _, line in ipairs(values) do
      line = pandoc.utils.stringify(line)
      if line ~= "" then head:insert(pandoc.Para(pandoc.Inlines(line))) end
    end
  end
  document.blocks = head .. document.blocks
  return document
end
