# frozen_string_literal: true

desc "Write docs/internals/messages.md, the table of all messages between the processes"
task :messages do
  require_relative "../load_path"
  require_relative "messages_page"
  File.write(MessagesPage::PATH, MessagesPage.text)
end
