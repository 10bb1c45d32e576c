# frozen_string_literal: true

desc "Write docs/internals/messages.md, the table of all messages between the processes"
task :messages do
  $LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
  require_relative "messages_page"
  File.write(MessagesPage::PATH, MessagesPage.text)
end
